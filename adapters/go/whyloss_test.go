package whyloss_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	whyloss "github.com/whyloss/whyloss/adapters/go"
)

// A sender that loses one packet in a hundred.
func ExampleScheme() {
	scheme, err := whyloss.NewScheme(whyloss.Options{Name: "cubic/keep/trees", MTU: 1200})
	if err != nil {
		panic(err)
	}
	defer scheme.Close()
	now, events := uint64(1_000_000_000), 0
	for round := range uint64(1_000) {
		acked, lost := []uint64{}, []uint64{}
		for number := round * 8; number < round*8+8; number++ {
			_ = scheme.Sent(number, 1200, now, false)
			if number%100 == 99 {
				lost = append(lost, number)
			} else {
				acked = append(acked, number)
			}
		}
		now += 50_000_000
		_ = scheme.RTT(50_000_000)
		_ = scheme.Acked(acked, now)
		if verdict, err := scheme.Lost(lost, now); err == nil && verdict.Cause != whyloss.Unknown {
			events++
		}
	}
	allowed, err := scheme.Allowance()
	fmt.Println(events, "losses,", allowed.InFlight, "bytes in flight", err)
	// Output: 80 losses, 0 bytes in flight <nil>
}

func TestBadCallsAreErrors(t *testing.T) {
	if _, err := whyloss.NewScheme(whyloss.Options{Name: "whylos", MTU: 1200}); err == nil || !strings.Contains(err.Error(), "did you mean `whyloss`?") {
		t.Error(err)
	}
	if _, err := whyloss.NewMedia(math.NaN(), 0, 1); err == nil {
		t.Error("a bitrate that is no number was taken")
	}
	scheme, err := whyloss.NewScheme(whyloss.Options{Name: "whyloss", MTU: 1200})
	if err != nil {
		t.Fatal(err)
	}
	if scheme.Sent(5, 1200, 1_000, false) != nil || scheme.Sent(5, 1200, 1_000, false) == nil {
		t.Error("a number was taken twice")
	}
	if scheme.Close() != nil || scheme.Close() == nil || scheme.Sent(6, 1200, 1_000, false) == nil || scheme.RTT(1) == nil {
		t.Error("a closed scheme was used")
	}
}
