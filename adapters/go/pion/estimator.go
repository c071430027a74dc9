// Package pion provides Whyloss as a bandwidth estimator of Pion. The estimator distinguishes
// losses at a full queue from losses on a radio link, and lowers the bitrate only for the former.
package pion

import (
	"errors"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/cc"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	whyloss "github.com/whyloss/whyloss/adapters/go"
)

const transportCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"

var errClosed = errors.New("whyloss: the estimator is closed")

// Options configure an estimator. Bitrates are in bit/s.
type Options struct {
	Initial, Least, Most int
	// Pacer sends packets at the target bitrate. The default is Pion's leaky bucket.
	Pacer gcc.Pacer
}

// An Estimator estimates the bitrate of a sender; it implements cc.BandwidthEstimator.
type Estimator struct {
	pacer gcc.Pacer
	epoch time.Time

	lock     sync.Mutex
	media    *whyloss.Media
	history  history
	timer    *time.Timer
	target   int
	changed  func(bitrate int)
	isClosed bool
}

var _ cc.BandwidthEstimator = (*Estimator)(nil)

// New creates an estimator. If Least and Most are 0, they default to 50 kbit/s and 20 Mbit/s.
func New(options Options) (*Estimator, error) {
	if options.Least == 0 {
		options.Least = 50_000
	}
	if options.Most == 0 {
		options.Most = 20_000_000
	}
	media, err := whyloss.NewMedia(float64(options.Initial), float64(options.Least), float64(options.Most))
	if err != nil {
		return nil, err
	}
	state, err := media.State()
	if err != nil {
		return nil, err
	}
	if options.Pacer == nil {
		options.Pacer = gcc.NewLeakyBucketPacer(int(state.Target))
	}
	// The estimator refuses times before its first one.
	e := &Estimator{pacer: options.Pacer, epoch: time.Now().Add(-time.Second), media: media, target: int(state.Target)}
	e.history.init()
	e.timer = time.AfterFunc(time.Hour, e.expire)
	e.timer.Stop()
	return e, nil
}

// Factory returns an estimator factory for cc.NewInterceptor.
func Factory(options Options) cc.BandwidthEstimatorFactory {
	return func() (cc.BandwidthEstimator, error) { return New(options) }
}

// nanoseconds since the epoch, by the clock that does not jump.
func (e *Estimator) nanoseconds(at time.Time) uint64 {
	return uint64(max(at.Sub(e.epoch), 0))
}

// AddStream returns a writer that paces the stream and remembers its packets. Register the
// interceptor before the one that adds transport-wide numbers.
func (e *Estimator) AddStream(info *interceptor.StreamInfo, writer interceptor.RTPWriter) interceptor.RTPWriter {
	var extension uint8
	for _, known := range info.RTPHeaderExtensions {
		if known.URI == transportCC {
			extension = uint8(known.ID)
		}
	}
	e.pacer.AddStream(info.SSRC, interceptor.RTPWriterFunc(
		func(header *rtp.Header, payload []byte, attributes interceptor.Attributes) (int, error) {
			key := packet{header.SSRC, header.SequenceNumber}
			if extension != 0 {
				var wide rtp.TransportCCExtension
				if err := wide.Unmarshal(header.GetExtension(extension)); err != nil {
					return 0, errors.New("whyloss: a packet has no transport-wide number; register the interceptor that adds it after this one")
				}
				key = packet{0, wide.TransportSequence}
			}
			e.lock.Lock()
			e.history.add(key, e.nanoseconds(time.Now()), uint32(header.MarshalSize()+len(payload)))
			e.lock.Unlock()
			return writer.Write(header, payload, attributes)
		}))
	return e.pacer
}

// WriteRTCP handles transport-wide feedback and feedback of RFC 8888, and ignores other packets.
func (e *Estimator) WriteRTCP(packets []rtcp.Packet, _ interceptor.Attributes) error {
	e.lock.Lock()
	if e.isClosed {
		e.lock.Unlock()
		return errClosed
	}
	var failed error
	for _, packet := range packets {
		var reports []whyloss.Report
		switch feedback := packet.(type) {
		case *rtcp.TransportLayerCC:
			reports, failed = e.history.transportWide(feedback)
		case *rtcp.CCFeedbackReport:
			reports = e.history.perStream(feedback)
		}
		if failed == nil && len(reports) > 0 {
			failed = e.media.OnReports(e.nanoseconds(time.Now()), reports)
		}
		if failed != nil {
			break
		}
	}
	tell := e.follow()
	e.lock.Unlock()
	tell()
	return failed
}

// expire handles the timeout of the estimator.
func (e *Estimator) expire() {
	e.lock.Lock()
	if e.isClosed {
		e.lock.Unlock()
		return
	}
	_ = e.media.OnTimeout(e.nanoseconds(time.Now()))
	tell := e.follow()
	e.lock.Unlock()
	tell()
}

// follow reads the target and sets the timer. It returns what is left to do without the lock.
func (e *Estimator) follow() func() {
	if due, ok, err := e.media.NextTimeout(); err == nil && ok {
		e.timer.Reset(time.Until(e.epoch.Add(time.Duration(due))))
	}
	state, err := e.media.State()
	target := int(state.Target)
	if err != nil || target == e.target {
		return func() {}
	}
	e.target = target
	changed := e.changed
	return func() {
		e.pacer.SetTargetBitrate(target)
		if changed != nil {
			changed(target)
		}
	}
}

// GetTargetBitrate returns the bitrate to send at, in bit/s.
func (e *Estimator) GetTargetBitrate() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.target
}

// OnTargetBitrateChange sets the function that is called with every new target.
func (e *Estimator) OnTargetBitrateChange(changed func(bitrate int)) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.changed = changed
}

// GetStats returns the estimates behind the target, in bit/s, seconds, and shares of packets.
func (e *Estimator) GetStats() map[string]any {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.isClosed {
		return map[string]any{}
	}
	state, err := e.media.State()
	if err != nil {
		return map[string]any{}
	}
	return map[string]any{
		"target": state.Target, "queue": state.Queue, "trend": state.Trend, "capacity": state.Capacity,
		"lost": state.Lost, "refused": state.Refused,
	}
}

// Close ends the estimator and its pacer.
func (e *Estimator) Close() error {
	e.lock.Lock()
	if e.isClosed {
		e.lock.Unlock()
		return nil
	}
	e.isClosed = true
	e.timer.Stop()
	err := e.media.Close()
	e.lock.Unlock()
	return errors.Join(err, e.pacer.Close())
}
