package pion

import (
	"errors"

	"github.com/pion/rtcp"

	whyloss "github.com/whyloss/whyloss/adapters/go"
)

// The number of tracked packets. Feedback on older packets is ignored.
const remembered = 1 << 13

// A packet is identified by its stream and number, or by 0 and a transport-wide number.
type packet struct {
	ssrc   uint32
	number uint16
}

type departure struct {
	key   packet
	id    uint64
	at    uint64
	bytes uint32
}

// history holds the last packets sent, and counts the wrap-arounds of a receiver's clock.
type history struct {
	next  uint64
	ring  []departure
	found map[packet]uint64
	clock int64
	began bool
}

func (h *history) init() {
	h.ring = make([]departure, remembered)
	h.found = make(map[packet]uint64, remembered)
}

func (h *history) add(key packet, at uint64, bytes uint32) {
	place := &h.ring[h.next%remembered]
	if h.next >= remembered && h.found[place.key] == place.id {
		delete(h.found, place.key)
	}
	*place = departure{key, h.next, at, bytes}
	h.found[key] = h.next
	h.next++
}

// report returns the report of a packet, if the packet is tracked.
func (h *history) report(key packet, fate whyloss.Fate, received uint64, ecn uint8) (whyloss.Report, bool) {
	id, ok := h.found[key]
	if !ok {
		return whyloss.Report{}, false
	}
	sent := &h.ring[id%remembered]
	return whyloss.Report{ID: id, Departed: sent.at, Received: received, Bytes: sent.bytes, Fate: fate, ECN: ecn}, true
}

// unwrap returns the count nearest to the last one that ends in these bits.
func (h *history) unwrap(count int64, bits uint) int64 {
	if h.began {
		count = h.clock + (count-h.clock)<<(64-bits)>>(64-bits)
	} else {
		// The offset keeps times above 0 if the first feedback was reordered.
		count += 1 << bits
	}
	h.clock, h.began = count, true
	return count
}

// transportWide parses draft-holmer-rmcat-transport-wide-cc-extensions-01: a reference time in units
// of 64 ms, then deltas, which Pion gives in microseconds.
func (h *history) transportWide(feedback *rtcp.TransportLayerCC) ([]whyloss.Report, error) {
	number, left, deltas := feedback.BaseSequenceNumber, int(feedback.PacketStatusCount), feedback.RecvDeltas
	received := h.unwrap(int64(feedback.ReferenceTime), 24) * 64_000
	reports := make([]whyloss.Report, 0, min(left, remembered))
	one := func(symbol uint16) error {
		fate := whyloss.Lost
		switch symbol {
		case rtcp.TypeTCCPacketReceivedSmallDelta, rtcp.TypeTCCPacketReceivedLargeDelta:
			if len(deltas) == 0 {
				return errors.New("whyloss: feedback has fewer times than packets")
			}
			fate = whyloss.Arrived
			received += deltas[0].Delta
			deltas = deltas[1:]
		case rtcp.TypeTCCPacketReceivedWithoutDelta:
			fate = whyloss.ArrivedUntimed
		}
		if report, ok := h.report(packet{0, number}, fate, uint64(received)*1000, 0); ok {
			reports = append(reports, report)
		}
		number++
		left--
		return nil
	}
	for _, chunk := range feedback.PacketChunks {
		switch chunk := chunk.(type) {
		case *rtcp.RunLengthChunk:
			for run := min(int(chunk.RunLength), left); run > 0; run-- {
				if err := one(chunk.PacketStatusSymbol); err != nil {
					return nil, err
				}
			}
		case *rtcp.StatusVectorChunk:
			for _, symbol := range chunk.SymbolList[:min(len(chunk.SymbolList), left)] {
				if err := one(symbol); err != nil {
					return nil, err
				}
			}
		}
	}
	return reports, nil
}

// perStream parses feedback of RFC 8888: the time of the report in 2^-16 s, and the age of each
// arrival before it in 2^-10 s.
func (h *history) perStream(feedback *rtcp.CCFeedbackReport) []whyloss.Report {
	const unknown = 0x1fff // as 0x1ffe: longer ago than that, or not known
	sent := h.unwrap(int64(feedback.ReportTimestamp), 32)
	var reports []whyloss.Report
	for _, block := range feedback.ReportBlocks {
		for index, metric := range block.MetricBlocks {
			fate, received := whyloss.Lost, uint64(0)
			if metric.Received {
				fate = whyloss.ArrivedUntimed
				if metric.ArrivalTimeOffset < unknown-1 {
					fate = whyloss.Arrived
					ticks := uint64(sent - int64(metric.ArrivalTimeOffset)<<6)
					received = ticks * 1_953_125 >> 7 // 10^9 / 2^16
				}
			}
			key := packet{block.MediaSSRC, block.BeginSequence + uint16(index)}
			if report, ok := h.report(key, fate, received, uint8(metric.ECN)); ok {
				reports = append(reports, report)
			}
		}
	}
	return reports
}
