//! Builds scenarios from networks of the arena, with variations, in which a driver decides.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use whyloss_sim::Scenario;
use whyloss_sim::decider::{Decider, OutsideReceiver, OutsideSender};
use whyloss_sim::recording;
use whyloss_sim::scenario::{Flow, Transport as Carrier};
use whyloss_study::arena::{Laws, Network, Queue, Radios, Setting, Transport, Trials, Variant};

use crate::model::{InLoop, Model, SenderInLoop};

/// Selects the networks.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    pub(crate) seed: u64,
    pub(crate) networks: u64,
    /// The length of a run in seconds. If given, packet sizes vary, and a third of the networks use
    /// ns-2's TFRC.
    pub(crate) varied: Option<u32>,
    pub(crate) queue: Queue,
    pub(crate) arq: bool,
    pub(crate) laws: Laws,
    pub(crate) radios: Radios,
    pub(crate) transport: Transport,
    /// More keys of TCP in scenario syntax, with a leading comma.
    pub(crate) tcp: &'static str,
}

/// Reads channels of noisy links, one per line.
pub(crate) fn given(path: &Path) -> Result<Radios, Box<dyn Error + Send + Sync>> {
    let text = std::fs::read_to_string(path)?;
    let channels: Vec<String> = text.lines().map(str::to_owned).collect();
    if channels.is_empty() {
        return Err("the file has no channel".into());
    }
    Ok(Radios::Given(channels.leak()))
}

/// Reads a recording for noisy links to replay. Uses its trials number `first`, `first` + 2, …,
/// counted from 0, that lose 0.3 to 30 %.
pub(crate) fn replayed(path: &Path, first: usize) -> Result<Radios, Box<dyn Error + Send + Sync>> {
    let recording = recording::read(path, None)?;
    let whole = path.canonicalize()?;
    let name = whole.to_str().ok_or("the path is not UTF-8")?;
    let all = Trials::new(name, &recording).ok_or("no trial loses 0.3 to 30 %")?;
    let half = all.numbers.iter().copied();
    let half: Vec<usize> = half.filter(|number| (number - 1) % 2 == first).collect();
    if half.is_empty() {
        return Err("no trial of that half loses 0.3 to 30 %".into());
    }
    Ok(Radios::Replayed(Trials {
        numbers: half.leak(),
        ..all
    }))
}

/// The drivers that a list names, with the models among them.
pub(crate) struct Drivers {
    pub(crate) names: Vec<String>,
    models: HashMap<String, Arc<Model>>,
}

impl Drivers {
    pub(crate) fn new(list: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut models = HashMap::new();
        // Commas within a table do not separate drivers.
        let mut depth = 0;
        let apart = |letter: char| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            letter == ',' && depth == 0
        };
        let names: Vec<String> = list
            .split(apart)
            .map(|name| name.trim().to_owned())
            .collect();
        for name in &names {
            let path = Path::new(name);
            if path.extension().is_some_and(|known| known == "txt") {
                let model = Model::read(path).map_err(|error| format!("{name}: {error}"))?;
                models.insert(name.clone(), Arc::new(model));
            }
        }
        Ok(Self { names, models })
    }

    /// Installs the driver, if it is a model, in the flows whose names have this prefix.
    pub(crate) fn put(&self, driver: &str, scenario: &mut Scenario, flows: &str) {
        let Some(model) = self.models.get(driver) else {
            return;
        };
        let own = |flow: &&mut Flow| flow.name.starts_with(flows);
        for flow in scenario.flows.iter_mut().filter(own) {
            let model = Arc::clone(model);
            match &mut flow.transport {
                Carrier::Tfrc { classifier, .. } => {
                    *classifier = Decider::Outside(OutsideReceiver::new(move || {
                        Box::new(InLoop::new(Arc::clone(&model)))
                    }));
                }
                Carrier::Tcp { classifier, .. } => {
                    *classifier = Decider::Outside(OutsideSender::new(move || {
                        Box::new(SenderInLoop::new(Arc::clone(&model)))
                    }));
                }
                _ => {}
            }
        }
    }

    pub(crate) fn model(&self, driver: &str) -> Option<&Arc<Model>> {
        self.models.get(driver)
    }
}

impl Drawn {
    pub(crate) fn network(self, index: u64) -> Network {
        let setting = Setting {
            networks: self.networks,
            seed: self.seed,
            queue: self.queue,
            arq: self.arq,
            laws: self.laws,
            radios: self.radios,
            ..Setting::default()
        };
        Network::draw(self.seed, index, &setting)
    }

    /// Returns network number `index` with `driver` in every judged flow, and with this clock noise
    /// in ns.
    pub(crate) fn scenario(
        self,
        index: u64,
        drivers: &Drivers,
        driver: &str,
        noise: Option<u64>,
    ) -> Result<Scenario, Box<dyn Error + Send + Sync>> {
        self.variant(Variant::Drawn, index, drivers, driver, noise)
    }

    /// Returns another variant of the network, otherwise like [`Self::scenario`].
    pub(crate) fn variant(
        self,
        variant: Variant,
        index: u64,
        drivers: &Drivers,
        driver: &str,
        noise: Option<u64>,
    ) -> Result<Scenario, Box<dyn Error + Send + Sync>> {
        let network = self.network(index);
        let mut text = network.scenario(self.transport, variant);
        for known in ["recovery = \"newreno\"", "controller = \"cubic\""] {
            text = text.replace(known, &format!("{known}{}", self.tcp));
        }
        if let Some(seconds) = self.varied {
            text = text.replace("\"130 s\"", &format!("\"{seconds} s\""));
            let size = ["1000 B", "1000 B", "1500 B", "500 B"][(index / 3 % 4) as usize];
            text = text.replace("\"1000 B\"", &format!("\"{size}\""));
            if index / 2 % 3 == 2 {
                text = text.replace(
                    "transport = \"tfrc\"",
                    "transport = { kind = \"tfrc\", base = \"ns2\" }",
                );
            }
        }
        let known = if drivers.model(driver).is_some() {
            "unaware"
        } else {
            driver
        };
        let mut overrides: Vec<(String, String)> = (1..=network.flows)
            .map(|flow| (format!("flow.judged-{flow}.classifier"), known.to_owned()))
            .collect();
        overrides.extend(noise.map(|nanos| ("clock_noise".to_owned(), format!("{nanos} ns"))));
        let mut scenario = Scenario::from_toml(&text, "drawn", &overrides)?;
        drivers.put(driver, &mut scenario, "judged-");
        Ok(scenario)
    }
}
