package pion_test

import (
	"fmt"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/cc"
	"github.com/pion/interceptor/pkg/twcc"

	"github.com/whyloss/whyloss/adapters/go/pion"
)

// Registers the estimator as Pion's WebRTC registers its own estimator.
func Example() {
	registry := &interceptor.Registry{}
	control, err := cc.NewInterceptor(pion.Factory(pion.Options{Initial: 500_000, Most: 3_000_000}))
	if err != nil {
		panic(err)
	}
	control.OnNewPeerConnection(func(id string, estimator cc.BandwidthEstimator) {
		fmt.Println(id, "starts at", estimator.GetTargetBitrate(), "bit/s")
		estimator.OnTargetBitrateChange(func(bitrate int) { _ = bitrate /* tell the encoder */ })
	})
	registry.Add(control)
	// This interceptor adds the transport-wide numbers for the feedback, and must be registered last.
	numbers, err := twcc.NewHeaderExtensionInterceptor()
	if err != nil {
		panic(err)
	}
	registry.Add(numbers)
	chain, err := registry.Build("call 1")
	if err != nil {
		panic(err)
	}
	if err := chain.Close(); err != nil {
		panic(err)
	}
	// Output: call 1 starts at 500000 bit/s
}
