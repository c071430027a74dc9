//! Networks of the arena, with variations, as scenarios in which a driver decides.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use whyloss_sim::Scenario;
use whyloss_sim::decider::{Decider, OutsideReceiver};
use whyloss_sim::scenario::Transport as Carrier;
use whyloss_study::arena::{Network, Setting, Transport, Variant};

use crate::model::{InLoop, Model};

/// Which networks.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    pub(crate) seed: u64,
    pub(crate) networks: u64,
    /// Whether packets have other sizes, too, and a third of the networks ns-2's TFRC.
    pub(crate) vary: bool,
}

/// Who may decide.
pub(crate) struct Drivers {
    pub(crate) names: Vec<String>,
    model: Option<Arc<Model>>,
}

impl Drivers {
    pub(crate) fn new(
        names: &[String],
        model: Option<&Path>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let model = model.map(Model::read).transpose()?.map(Arc::new);
        if model.is_none() && names.iter().any(|name| name == "model") {
            return Err("the driver `model` needs --model FILE".into());
        }
        Ok(Self {
            names: names.to_vec(),
            model,
        })
    }
}

impl Drawn {
    pub(crate) fn network(self, index: u64) -> Network {
        let setting = Setting {
            networks: self.networks,
            seed: self.seed,
            ..Setting::default()
        };
        Network::draw(self.seed, index, &setting)
    }

    /// Network number `index` with `driver` in every judged flow, and so many nanoseconds of clock noise.
    pub(crate) fn scenario(
        self,
        index: u64,
        drivers: &Drivers,
        driver: &str,
        noise: Option<u64>,
    ) -> Result<Scenario, Box<dyn Error + Send + Sync>> {
        let network = self.network(index);
        let mut text = network.scenario(Transport::Tfrc, Variant::Drawn);
        if self.vary {
            let size = ["1000 B", "1000 B", "1500 B", "500 B"][(index / 3 % 4) as usize];
            text = text.replace("\"1000 B\"", &format!("\"{size}\""));
            if index / 2 % 3 == 2 {
                text = text.replace(
                    "transport = \"tfrc\"",
                    "transport = { kind = \"tfrc\", base = \"ns2\" }",
                );
            }
        }
        let known = if driver == "model" { "unaware" } else { driver };
        let mut overrides: Vec<(String, String)> = (1..=network.flows)
            .map(|flow| (format!("flow.judged-{flow}.classifier"), known.to_owned()))
            .collect();
        overrides.extend(noise.map(|nanos| ("clock_noise".to_owned(), format!("{nanos} ns"))));
        let mut scenario = Scenario::from_toml(&text, "drawn", &overrides)?;
        if let (Some(model), "model") = (&drivers.model, driver) {
            for flow in scenario.flows.iter_mut().filter(|flow| !flow.background) {
                if let Carrier::Tfrc { classifier, .. } = &mut flow.transport {
                    let model = Arc::clone(model);
                    *classifier = Decider::Outside(OutsideReceiver::new(move || {
                        Box::new(InLoop::new(Arc::clone(&model)))
                    }));
                }
            }
        }
        Ok(scenario)
    }
}
