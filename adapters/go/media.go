package whyloss

/*
#include <stdlib.h>
#include <whyloss.h>
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"
)

// A Fate is the fate of a packet as its receiver reports it.
type Fate int32

// Fates of a packet.
const (
	Lost           Fate = C.WHYLOSS_FATE_LOST
	Arrived        Fate = C.WHYLOSS_FATE_ARRIVED
	ArrivedUntimed Fate = C.WHYLOSS_FATE_ARRIVED_UNTIMED
)

// A Report is a receiver's report of one packet.
type Report struct {
	// ID numbers packets consecutively in the order of departure.
	ID uint64
	// Departed is the time on the sender's clock, Received that on the receiver's, in nanoseconds.
	Departed, Received uint64
	// Bytes is the size on the wire.
	Bytes uint32
	Fate  Fate
	// ECN holds the two ECN bits with which the packet arrived.
	ECN uint8
}

// A MediaState holds the bitrate to send at, and the estimates behind it.
type MediaState struct {
	// Target is the bitrate to send at, in bit/s.
	Target float64
	// Queue is the queueing delay in the latest round, in seconds, and Trend its growth per second.
	Queue, Trend float64
	// Capacity is the capacity measured at the last congestion, in bit/s; 0 before the first.
	Capacity float64
	// Lost is the share of packets lost in the latest round, and Refused the share lost at a full
	// queue.
	Lost, Refused float64
}

// A Media estimates the bitrate of a real-time sender.
type Media struct {
	memory  *C.whyloss_media
	cleanup runtime.Cleanup
	reports []C.whyloss_media_report
}

// NewMedia creates an estimator with a lower and an upper bitrate, each 0 to 1e12 bit/s.
func NewMedia(initial, least, most float64) (*Media, error) {
	made := C.whyloss_media_options{
		abi: C.WHYLOSS_ABI, initial_bps: C.double(initial), least_bps: C.double(least),
		most_bps: C.double(most),
	}
	size := C.whyloss_media_size()
	memory, err := start(size, func(memory unsafe.Pointer, text *C.char, room C.size_t) C.whyloss_status {
		return C.whyloss_media_init((*C.whyloss_media)(memory), size, &made, text, room)
	})
	if err != nil {
		return nil, err
	}
	media := &Media{memory: (*C.whyloss_media)(memory)}
	media.cleanup = runtime.AddCleanup(media, freeMedia, media.memory)
	return media, nil
}

func freeMedia(memory *C.whyloss_media) {
	C.whyloss_media_drop(memory)
	C.free(unsafe.Pointer(memory))
}

// Close frees the estimator. Every later call fails.
func (m *Media) Close() error {
	if m.memory == nil {
		return errClosed
	}
	m.cleanup.Stop()
	freeMedia(m.memory)
	m.memory = nil
	return nil
}

// OnReports handles reports, in any order, that arrived at now on the sender's clock.
func (m *Media) OnReports(now uint64, reports []Report) error {
	defer runtime.KeepAlive(m)
	m.reports = m.reports[:0]
	for _, report := range reports {
		m.reports = append(m.reports, C.whyloss_media_report{
			id: C.uint64_t(report.ID), departed_ns: C.uint64_t(report.Departed),
			received_ns: C.uint64_t(report.Received), bytes: C.uint32_t(report.Bytes),
			fate: C.int32_t(report.Fate), ecn: C.int32_t(report.ECN), cause: C.WHYLOSS_CAUSE_UNKNOWN,
		})
	}
	return failure(C.whyloss_media_on_reports(m.memory, C.uint64_t(now), unsafe.SliceData(m.reports),
		C.size_t(len(m.reports))))
}

// OnTimeout handles a timeout at now.
func (m *Media) OnTimeout(now uint64) error {
	defer runtime.KeepAlive(m)
	return failure(C.whyloss_media_on_timeout(m.memory, C.uint64_t(now)))
}

// NextTimeout returns the time at which to call OnTimeout unless a report arrives earlier, and
// whether there is such a time.
func (m *Media) NextTimeout() (due uint64, ok bool, err error) {
	defer runtime.KeepAlive(m)
	var at C.uint64_t
	err = failure(C.whyloss_media_next_timeout(m.memory, &at))
	return uint64(at), err == nil && uint64(at) != math.MaxUint64, err
}

// State returns the bitrate to send at, and the estimates behind it.
func (m *Media) State() (MediaState, error) {
	defer runtime.KeepAlive(m)
	var state C.whyloss_media_state
	err := failure(C.whyloss_media_target(m.memory, &state))
	return MediaState{
		Target: float64(state.target_bps), Queue: float64(state.queue_s), Trend: float64(state.trend),
		Capacity: float64(state.capacity_bps), Lost: float64(state.lost), Refused: float64(state.refused),
	}, err
}
