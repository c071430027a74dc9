package pion

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/cc"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const (
	extension = 5
	size      = 1_000 // bytes of a payload
)

// A link forwards packets at a rate, loses some, and reports what arrived every 50 ms.
type link struct {
	lock  sync.Mutex // a pacer writes from a goroutine of its own
	rate  float64    // bit/s
	lost  float64    // share
	delay time.Duration
	wide  bool
	free  time.Time // when the last packet will have left
	draws *rand.Rand
	sent  map[uint16]time.Time
	seen  *twcc.Recorder
	first uint16
	next  uint16
}

func newLink(rate, lost float64, wide bool) *link {
	return &link{
		rate: rate, lost: lost, delay: 30 * time.Millisecond, wide: wide,
		draws: rand.New(rand.NewPCG(1, 2)), sent: map[uint16]time.Time{}, seen: twcc.NewRecorder(1),
	}
}

// Write carries a packet; the queue holds 300 ms.
func (l *link) Write(header *rtp.Header, payload []byte, _ interceptor.Attributes) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	now := time.Now()
	l.next = header.SequenceNumber + 1
	if l.free.Before(now) {
		l.free = now
	}
	if l.free.Sub(now) > 300*time.Millisecond {
		return len(payload), nil
	}
	l.free = l.free.Add(time.Duration(float64(header.MarshalSize()+len(payload)) * 8e9 / l.rate))
	if l.draws.Float64() >= l.lost {
		l.sent[header.SequenceNumber] = l.free.Add(l.delay)
	}
	return len(payload), nil
}

// feedback returns what has arrived by now, as bytes that crossed the network.
func (l *link) feedback(t *testing.T) []rtcp.Packet {
	l.lock.Lock()
	defer l.lock.Unlock()
	now := time.Now()
	var packets []rtcp.Packet
	if l.wide {
		for number := l.first; number != l.next; number++ {
			if at, ok := l.sent[number]; ok && !at.After(now) {
				l.seen.Record(2, number, at.UnixMicro())
				delete(l.sent, number)
			}
		}
		packets = l.seen.BuildFeedbackPacket()
	} else {
		block := rtcp.CCFeedbackReportBlock{MediaSSRC: 2, BeginSequence: l.first}
		last := l.first
		for number := l.first; number != l.next; number++ {
			if at, ok := l.sent[number]; ok && !at.After(now) {
				last = number + 1
			}
		}
		for ; l.first != last; l.first++ {
			at, ok := l.sent[l.first]
			metric := rtcp.CCFeedbackMetricBlock{Received: ok}
			if ok {
				metric.ArrivalTimeOffset = uint16(now.Sub(at) * 1024 / time.Second)
			}
			block.MetricBlocks = append(block.MetricBlocks, metric)
		}
		if len(block.MetricBlocks) == 0 {
			return nil
		}
		stamp := uint32(now.UnixNano() * 65_536 / int64(time.Second))
		packets = []rtcp.Packet{&rtcp.CCFeedbackReport{ReportBlocks: []rtcp.CCFeedbackReportBlock{block}, ReportTimestamp: stamp}}
	}
	if len(packets) == 0 {
		return nil
	}
	bytes, err := rtcp.Marshal(packets)
	if err != nil {
		t.Fatal(err)
	}
	packets, err = rtcp.Unmarshal(bytes)
	if err != nil {
		t.Fatal(err)
	}
	return packets
}

// call sends at the target for that long, and returns the mean target of the second half.
func call(t *testing.T, l *link, estimator cc.BandwidthEstimator, seconds int) float64 {
	info := &interceptor.StreamInfo{SSRC: 2}
	if l.wide {
		info.RTPHeaderExtensions = []interceptor.RTPHeaderExtension{{URI: transportCC, ID: extension}}
	}
	writer := estimator.AddStream(info, l)
	next, debt, total := uint16(65_500), 0.0, 0.0 // The numbers wrap early.
	l.first, l.next = next, next
	for tick := range seconds * 200 {
		target := float64(estimator.GetTargetBitrate())
		if tick >= seconds*100 {
			total += target
		}
		for debt += target / 200; debt >= size*8; debt -= size * 8 {
			header := &rtp.Header{Version: 2, SSRC: 2, SequenceNumber: next}
			if l.wide {
				wide, err := (&rtp.TransportCCExtension{TransportSequence: next}).Marshal()
				if err != nil {
					t.Fatal(err)
				}
				if err := header.SetExtension(extension, wide); err != nil {
					t.Fatal(err)
				}
			}
			next++
			if _, err := writer.Write(header, make([]byte, size), nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Millisecond)
		if tick%10 == 9 {
			if err := estimator.WriteRTCP(l.feedback(t), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return total / float64(seconds*100)
}

func TestTargetFollowsTheLinkWithBothKindsOfFeedback(t *testing.T) {
	for _, wide := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			estimator, err := New(Options{Initial: 300_000, Pacer: gcc.NewNoOpPacer()})
			if err != nil {
				t.Fatal(err)
			}
			heard := 0
			estimator.OnTargetBitrateChange(func(int) { heard++ })
			target := call(t, newLink(2e6, 0, wide), estimator, 60)
			if target < 1.4e6 || target > 2.2e6 || heard == 0 {
				t.Errorf("wide %v: the link has 2 Mbit/s, the target %.0f, %d changes", wide, target, heard)
			}
			if stats := estimator.GetStats(); stats["target"].(float64) <= 0 {
				t.Errorf("statistics: %v", stats)
			}
			if err := estimator.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestARadioCostsLessThanUnderPionsOwnEstimator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, err := New(Options{Initial: 300_000, Pacer: gcc.NewNoOpPacer()})
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := gcc.NewSendSideBWE(gcc.SendSideBWEInitialBitrate(300_000), gcc.SendSideBWEPacer(gcc.NewNoOpPacer()))
		if err != nil {
			t.Fatal(err)
		}
		target := call(t, newLink(2e6, 0.05, true), ours, 60)
		other := call(t, newLink(2e6, 0.05, true), theirs, 60)
		t.Logf("5 %% lost of 2 Mbit/s: %.0f kbit/s, Pion's own %.0f", target/1e3, other/1e3)
		if target < 1.2e6 || target < other {
			t.Errorf("5 %% lost: the target is %.0f, Pion's own %.0f", target, other)
		}
		if err := ours.Close(); err != nil {
			t.Error(err)
		}
		if err := theirs.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSilenceLowersTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		estimator, err := New(Options{Initial: 300_000})
		if err != nil {
			t.Fatal(err)
		}
		call(t, newLink(2e6, 0, true), estimator, 20)
		before := estimator.GetTargetBitrate()
		time.Sleep(30 * time.Second)
		// Half, once, whichever way it is rounded.
		if after := estimator.GetTargetBitrate(); after > before/2+1 {
			t.Errorf("the target was %d, and is %d after 30 s without feedback", before, after)
		}
		if err := estimator.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBadFeedbackIsAnError(t *testing.T) {
	estimator, err := New(Options{Initial: 300_000, Pacer: gcc.NewNoOpPacer()})
	if err != nil {
		t.Fatal(err)
	}
	short := &rtcp.TransportLayerCC{PacketStatusCount: 5, PacketChunks: []rtcp.PacketStatusChunk{
		&rtcp.RunLengthChunk{PacketStatusSymbol: rtcp.TypeTCCPacketReceivedSmallDelta, RunLength: 5},
	}}
	if estimator.WriteRTCP([]rtcp.Packet{short}, nil) == nil {
		t.Error("feedback without times was taken")
	}
	if _, err := New(Options{Initial: -1}); err == nil {
		t.Error("a bitrate below 0 was taken")
	}
	if err := estimator.Close(); err != nil {
		t.Error(err)
	}
	if estimator.WriteRTCP(nil, nil) == nil {
		t.Error("a closed estimator took feedback")
	}
	if err := estimator.Close(); err != nil {
		t.Error("closing twice:", err)
	}
}
