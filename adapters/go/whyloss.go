// Package whyloss determines why packets were lost and how fast to send. It wraps the C interface
// of Whyloss.
//
// It finds the library with pkg-config, so install that first (docs/guides/c.md). A Scheme and a
// Media each serve one goroutine at a time. Times are nanoseconds since any fixed moment.
package whyloss

/*
#cgo pkg-config: whyloss
#include <stdlib.h>
#include <whyloss.h>
*/
import "C"

import (
	"errors"
	"math"
	"runtime"
	"unsafe"
)

// A Cause is the cause of a loss.
type Cause int32

// Causes of a loss.
const (
	Unknown    Cause = C.WHYLOSS_CAUSE_UNKNOWN
	Congestion Cause = C.WHYLOSS_CAUSE_CONGESTION
	Wireless   Cause = C.WHYLOSS_CAUSE_WIRELESS
)

// A Verdict is a classifier's decision about a loss event.
type Verdict struct {
	Cause Cause
	// Odds are the odds of congestion, p/(1-p); NaN if the classifier computes none.
	Odds float64
	// At is the time at which the loss was detected, in nanoseconds.
	At uint64
}

// An Allowance limits the bytes in flight and the sending rate.
type Allowance struct {
	// Window is the maximum number of bytes in flight, and InFlight the current number.
	Window, InFlight uint64
	// Pacing is the pacing rate in bit/s; 0 if acknowledgements alone clock packets.
	Pacing uint64
	// Quantum is the number of bytes that may leave at once when paced.
	Quantum uint64
}

// A Scheme controls the congestion of a connection with packet numbers.
type Scheme struct {
	memory  *C.whyloss_scheme
	cleanup runtime.Cleanup
}

// Options configure a scheme.
type Options struct {
	// Name is that of a scheme ("whyloss"), or of a controller, a policy and a classifier
	// ("cubic/percent/trees").
	Name string
	// Parameters are those of the named parts, such as "percent=80".
	Parameters string
	// MTU is the size of a full packet, in bytes.
	MTU uint32
	// Packets is the maximum number of tracked packets in flight; 0 means 16,384.
	Packets int
}

var errClosed = errors.New("whyloss: it is closed")

func failure(status C.whyloss_status) error {
	if status == C.WHYLOSS_STATUS_OK {
		return nil
	}
	return errors.New("whyloss: " + C.GoString(C.whyloss_status_text(C.int32_t(status))))
}

// start allocates memory of this size and initialises it with init; it frees the memory on an error.
func start(size C.size_t, init func(memory unsafe.Pointer, text *C.char, room C.size_t) C.whyloss_status) (unsafe.Pointer, error) {
	memory := C.calloc(1, size)
	var text [200]C.char
	if init(memory, &text[0], C.size_t(len(text))) != C.WHYLOSS_STATUS_OK {
		C.free(memory)
		return nil, errors.New("whyloss: " + C.GoString(&text[0]))
	}
	return memory, nil
}

// NewScheme creates a scheme. Call Close when done; otherwise the garbage collector does.
func NewScheme(options Options) (*Scheme, error) {
	name, parameters := C.CString(options.Name), C.CString(options.Parameters)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(parameters))
	made := C.whyloss_scheme_options{
		abi: C.WHYLOSS_ABI, mtu: C.uint32_t(options.MTU), name: name, parameters: parameters,
		packets: C.size_t(options.Packets),
	}
	size := C.whyloss_scheme_size()
	memory, err := start(size, func(memory unsafe.Pointer, text *C.char, room C.size_t) C.whyloss_status {
		return C.whyloss_scheme_init((*C.whyloss_scheme)(memory), size, &made, text, room)
	})
	if err != nil {
		return nil, err
	}
	scheme := &Scheme{memory: (*C.whyloss_scheme)(memory)}
	scheme.cleanup = runtime.AddCleanup(scheme, freeScheme, scheme.memory)
	return scheme, nil
}

func freeScheme(memory *C.whyloss_scheme) {
	C.whyloss_scheme_drop(memory)
	C.free(unsafe.Pointer(memory))
}

// Close frees the scheme. Every later call fails.
func (s *Scheme) Close() error {
	if s.memory == nil {
		return errClosed
	}
	s.cleanup.Stop()
	freeScheme(s.memory)
	s.memory = nil
	return nil
}

// Sent handles the sending of packet number with this size in bytes. appLimited means that the
// application has no more data, although the allowance permits more.
func (s *Scheme) Sent(number uint64, bytes uint32, now uint64, appLimited bool) error {
	limited := C.int32_t(0)
	if appLimited {
		limited = 1
	}
	defer runtime.KeepAlive(s)
	return failure(C.whyloss_scheme_on_sent(s.memory, C.uint64_t(number), C.uint32_t(bytes), C.uint64_t(now), limited))
}

// RTT sets the round-trip time of the next acknowledgement, in nanoseconds, without the delay that
// the peer reports, which would look like a queue.
func (s *Scheme) RTT(rtt uint64) error {
	defer runtime.KeepAlive(s)
	return failure(C.whyloss_scheme_on_rtt(s.memory, C.uint64_t(rtt)))
}

// Acked handles an acknowledgement and the packets that it acknowledges for the first time.
func (s *Scheme) Acked(numbers []uint64, now uint64) error {
	defer runtime.KeepAlive(s)
	return failure(C.whyloss_scheme_on_acked(s.memory, (*C.uint64_t)(unsafe.SliceData(numbers)),
		C.size_t(len(numbers)), C.uint64_t(now)))
}

// Lost handles the loss of these packets. It returns the verdict on a new loss event, and otherwise
// a verdict with the cause Unknown.
func (s *Scheme) Lost(numbers []uint64, now uint64) (Verdict, error) {
	defer runtime.KeepAlive(s)
	var verdict C.whyloss_verdict
	err := failure(C.whyloss_scheme_on_lost(s.memory, (*C.uint64_t)(unsafe.SliceData(numbers)),
		C.size_t(len(numbers)), C.uint64_t(now), &verdict))
	return Verdict{Cause(verdict.cause), float64(verdict.odds), uint64(verdict.at_ns)}, err
}

// PersistentCongestion handles the loss of everything sent over a long period (RFC 9002, section
// 7.6).
func (s *Scheme) PersistentCongestion(now uint64) error {
	defer runtime.KeepAlive(s)
	return failure(C.whyloss_scheme_on_persistent_congestion(s.memory, C.uint64_t(now), nil))
}

// Marked handles ECN marks that the last acknowledgement reports.
func (s *Scheme) Marked(now uint64) error {
	defer runtime.KeepAlive(s)
	return failure(C.whyloss_scheme_on_ecn(s.memory, C.uint64_t(now)))
}

// Allowance returns the limits on the bytes in flight and on the rate.
func (s *Scheme) Allowance() (Allowance, error) {
	defer runtime.KeepAlive(s)
	var allowed C.whyloss_allowance
	err := failure(C.whyloss_scheme_allowance(s.memory, &allowed))
	pacing := uint64(allowed.pacing_bps)
	if pacing == math.MaxUint64 {
		pacing = 0
	}
	return Allowance{uint64(allowed.window), uint64(allowed.in_flight), pacing, uint64(allowed.quantum)}, err
}
