use whyloss::congestion::AnyController;
use whyloss::registry::Values;
use whyloss::sender::veno::Veno;

use super::*;
use crate::scenario::{Scenario, Transport};

const WHICH: &[Parameter] = &[Parameter::whole(0, 0, 1, "0 Reno, 1 BBR").named("which")];

/// Returns Reno or BBR as a controller from outside.
fn controller(which: f64) -> OutsideController {
    let kind = if which < 0.5 {
        ControllerKind::default()
    } else {
        ControllerKind::Bbr
    };
    OutsideController::new(move |start: &Start| -> AnyController { kind.build(start) })
}

const CONTROLLER: Entry<OutsideController> =
    Entry::new(("mine", "Mine"), "", "", WHICH, |values| {
        Ok(controller(values.value("which")))
    });

fn registry() -> Registry {
    Registry::new()
        .controller(CONTROLLER)
        .sender(Entry::new(("my-veno", "My Veno"), "", "", &[], |_| {
            Ok(OutsideSender::new(|| Box::new(Veno::paper())))
        }))
        .scheme(Entry::new(
            ("my-scheme", "My scheme"),
            "",
            "",
            WHICH,
            |values| {
                let classifier = OutsideSender::new(|| Box::new(Veno::paper()));
                let controller = controller(values.value("which"));
                Ok(OutsideScheme::new(
                    controller,
                    WirelessPolicy::Keep,
                    classifier,
                ))
            },
        ))
}

fn read(flow: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"20 s\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ packets = 9 }}\nchannel = {{ kind = \"bernoulli\", loss = 0.02 }}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\npacket = \"1000 B\"\n{flow}\n"
    );
    let read = Scenario::from_toml_with(&text, "test", &[], &registry());
    read.map_err(|error| error.message)
}

/// A flow with algorithms from outside equals one with the same built-in algorithms, event by
/// event.
#[test]
fn they_run_as_those_from_within() {
    registry().check().expect("good names");
    for (outside, within) in [
        (
            r#"transport = { kind = "tcp", controller = "mine" }"#,
            r#"transport = { kind = "tcp", controller = "reno" }"#,
        ),
        (
            r#"transport = { kind = "tcp", controller = { name = "mine", which = true }, recovery = "rack" }"#,
            r#"transport = { kind = "tcp", controller = "bbr", recovery = "rack" }"#,
        ),
        (
            r#"transport = { kind = "tcp", controller = "mine", wireless = "keep-window" }
classifier = "my-veno""#,
            r#"transport = { kind = "tcp", controller = "reno", wireless = "keep-window" }
classifier = "veno""#,
        ),
        (
            r#"transport = "tcp"
scheme = { name = "my-scheme", which = true }"#,
            r#"transport = { kind = "tcp", controller = "bbr" }
classifier = "veno""#,
        ),
        (
            r#"transport = "tcp"
scheme = "my-scheme"
classifier = "unaware""#,
            r#"transport = "tcp""#,
        ),
    ] {
        let (own, ours) = (read(outside).expect(outside), read(within).expect(within));
        assert!(matches!(
            &own.flows[0].transport,
            Transport::Tcp {
                controller: Some(_),
                ..
            }
        ));
        let run = |scenario: &Scenario| crate::Simulation::new(scenario, 3).run().expect("runs");
        let expected = run(&ours);
        assert_eq!(run(&own), expected, "{outside}");
        let plain = |scenario: &Scenario| {
            crate::Simulation::new(scenario, 3)
                .plain()
                .run()
                .expect("runs")
        };
        assert_eq!(plain(&own).flows, expected.flows, "{outside}");
    }
}

/// Two runs of a sweep differ if the name, parameters or version of an algorithm differ.
#[test]
fn they_say_what_they_are() {
    let flow =
        |controller: &str| format!("transport = {{ kind = \"tcp\", controller = {controller} }}");
    let said = |controller: &str| format!("{:?}", read(&flow(controller)).expect("valid"));
    assert_eq!(said("\"mine\""), said("{ name = \"mine\" }"));
    assert_ne!(said("\"mine\""), said("{ name = \"mine\", which = true }"));
    let text = "duration = \"1 s\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"0 s\"\nqueue = { packets = 9 }\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\nclassifier = \"my-veno\"\n";
    let of = |version: &str| {
        let read = Scenario::from_toml_with(text, "test", &[], &registry().version(version));
        format!("{:?}", read.expect("valid"))
    };
    assert_ne!(of("1"), of("2"));
}

#[test]
fn mistakes_are_told() {
    for (flow, words) in [
        (
            r#"transport = { kind = "tcp", controller = { name = "mine", whih = true } }"#,
            "`mine` has no key `whih`; did you mean `which`?",
        ),
        (
            r#"transport = { kind = "tcp", controller = "mina" }"#,
            "no controller is called `mina`; did you mean `mine`?",
        ),
        (
            r#"transport = { kind = "tcp", controller = { name = "cubic" } }"#,
            "found a table, expected a controller, such as \"westwood\"",
        ),
        (
            r#"transport = { kind = "quic", stack = "quinn", controller = "mine" }"#,
            "a `quic` flow takes only controllers that are built in; `mine` is from outside",
        ),
        (
            r#"transport = { kind = "web", transfers = 1, controller = "mine" }"#,
            "a `web` flow takes only controllers that are built in",
        ),
        (
            "transport = \"tcp\"\nscheme = \"my-schema\"",
            "no scheme is called `my-schema`; did you mean `my-scheme`?",
        ),
        (
            "transport = \"iftp\"\nscheme = \"my-scheme\"",
            "`my-scheme` is a scheme of `tcp` and `quic` flows; this one is `iftp`",
        ),
        (
            "transport = \"tfrc\"\nclassifier = \"my-veno\"",
            "`my-veno` is a sender's classifier",
        ),
    ] {
        let message = read(flow).expect_err(flow);
        assert!(message.contains(words), "{flow}: {message}");
    }
}

#[test]
fn names_must_be_free_and_fit() {
    let named = |id| {
        let kind = |_: &Values<'_>| Ok(controller(0.0));
        Registry::new().controller(Entry::new((id, ""), "", "", &[], kind))
    };
    let wrong = |registry: Registry| registry.check().expect_err("wrong").to_string();
    assert!(wrong(named("cubic")).contains("`cubic`, but that name is taken"));
    assert!(
        wrong(named("my controller"))
            .starts_with("a controller is registered as \"my controller\"; expected")
    );
    assert!(wrong(named("a").controller(CONTROLLER).controller(CONTROLLER)).contains("`mine`"));
    let default = Parameter::real(2.0, 0.0, 1.0, "").named("gain");
    let parameters: &'static [Parameter] = Box::leak(Box::new([default]));
    let kind = |_: &Values<'_>| Ok(controller(0.0));
    let off = Registry::new().controller(Entry::new(("a", ""), "", "", parameters, kind));
    assert!(wrong(off).starts_with("parameter \"gain\" of `a` needs"));
}
