//! Milenkoski and Stojcevska, *Loss differentiation algorithms vs. congestion control schemes: dynamics and performance*,
//! 2010.
//!
//! | what | where |
//! |---|---|
//! | the networks of Figs 1 and 2, Scenarios 1 and 2 (MIL-9 … -12) | `network` |
//! | NewReno, Westwood, Vegas, and each with the ideal LDA (MIL-1 … -8) | `variants` |
//! | what senders do and see (MIL-13 … -16) | `probe`, `findings` |
//! | Figs 3 to 10 | `figures`, `degradation`, `series` |
//! | Tables 1 to 6 | `tables` |
//! | the paper's statements, with thresholds fixed in advance (MIL-34 … -53) | `claims_*` |

mod acks;
mod claims_general;
mod claims_newreno;
mod claims_vegas;
mod claims_westwood;
mod extensions;
mod figures;
mod findings;
mod network;
mod probe;
mod sensitivity;
mod sweep;
mod tables;
mod variants;

use whyloss_study::{Context, Experiment, ExperimentError, Outcome};

use self::figures::Sheet;
use self::network::{Topology, Traffic};
use self::tables::Table;

/// The least number of replications of a mean; its precision asks for the rest (MIL-A2).
const SEEDS: u64 = 10;

/// Every table and figure of the paper with results, and what helps to judge them.
pub(crate) static EXPERIMENTS: &[Experiment] = &[
    experiment("mil-fig-3", "NewRenoLDA against NewReno, Scenario 1", fig_3),
    experiment(
        "mil-fig-4",
        "throughput of NewReno and NewRenoLDA over three bottlenecks",
        fig_4,
    ),
    experiment("mil-fig-5", "NewRenoLDA against NewReno, Scenario 2", fig_5),
    experiment(
        "mil-fig-6",
        "WestwoodLDA against Westwood, Scenario 1",
        fig_6,
    ),
    experiment(
        "mil-fig-7",
        "WestwoodLDA against Westwood, Scenario 2",
        fig_7,
    ),
    experiment(
        "mil-fig-8",
        "acknowledgements at a WestwoodLDA sender, Scenario 2",
        acks::fig_8,
    ),
    experiment("mil-fig-9", "VegasLDA against Vegas, Scenario 1", fig_9),
    experiment("mil-fig-10", "VegasLDA against Vegas, Scenario 2", fig_10),
    experiment("mil-table-1", "loss events of NewReno, Scenario 1", table_1),
    experiment(
        "mil-table-2",
        "loss events of Westwood, single bottleneck, Scenario 1",
        table_2,
    ),
    experiment(
        "mil-table-3",
        "loss events of Westwood, multiple bottlenecks, Scenario 1",
        table_3,
    ),
    experiment(
        "mil-table-4",
        "actions of Vegas, single bottleneck, Scenario 1",
        table_4,
    ),
    experiment(
        "mil-table-5",
        "actions of Vegas, multiple bottlenecks, Scenario 1",
        table_5,
    ),
    experiment(
        "mil-table-6",
        "actions of Vegas, single bottleneck, Scenario 2",
        table_6,
    ),
    experiment(
        "mil-sweep-flows",
        "where NewRenoLDA begins to pay, against the number of flows",
        sweep::flows,
    ),
    experiment(
        "mil-extensions",
        "other reactions to a loss called wireless",
        extensions::all,
    ),
    experiment(
        "mil-sensitivity",
        "Figs 3 to 10 under other readings of the paper",
        sensitivity::all,
    ),
];

const fn experiment(
    id: &'static str,
    title: &'static str,
    run: fn(&Context<'_>) -> Result<Outcome, ExperimentError>,
) -> Experiment {
    Experiment {
        id,
        paper: "mil",
        title,
        seeds: SEEDS,
        run,
    }
}

fn fig_3(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "mil-fig-3",
        title: "Fig. 3: NewRenoLDA against NewReno in Scenario 1",
        scheme: variants::newreno(),
        traffic: Traffic::Alone,
        stated: &[],
        ack_interval: None,
        claims: claims_newreno::scenario_1,
    };
    figures::improvement(context, sheet)
}

fn fig_4(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    figures::degradation(
        context,
        "mil-fig-4",
        "Fig. 4: throughput of the forward flow over three bottlenecks in Scenario 1",
        variants::newreno(),
        claims_newreno::degradation,
    )
}

fn fig_5(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "mil-fig-5",
        title: "Fig. 5: NewRenoLDA against NewReno in Scenario 2",
        scheme: variants::newreno(),
        traffic: Traffic::SCENARIO_2,
        stated: &[],
        ack_interval: None,
        claims: claims_newreno::scenario_2,
    };
    figures::improvement(context, sheet)
}

fn fig_6(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "mil-fig-6",
        title: "Fig. 6: WestwoodLDA against Westwood in Scenario 1",
        scheme: variants::westwood(),
        traffic: Traffic::Alone,
        stated: &[
            (Topology::Single, 1, 11.91),
            (Topology::Single, 8, -6.58),
            (Topology::Multiple, 4, -11.91),
            (Topology::Multiple, 8, 33.24),
        ],
        ack_interval: Some([4.194, 5.499]),
        claims: claims_westwood::scenario_1,
    };
    figures::improvement(context, sheet)
}

fn fig_7(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "mil-fig-7",
        title: "Fig. 7: WestwoodLDA against Westwood in Scenario 2",
        scheme: variants::westwood(),
        traffic: Traffic::SCENARIO_2,
        stated: &[(Topology::Single, 5, 1.65)],
        ack_interval: None,
        claims: claims_westwood::scenario_2,
    };
    figures::improvement(context, sheet)
}

fn fig_9(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "mil-fig-9",
        title: "Fig. 9: VegasLDA against Vegas in Scenario 1",
        scheme: variants::vegas(),
        traffic: Traffic::Alone,
        stated: &[],
        ack_interval: None,
        claims: claims_vegas::scenario_1,
    };
    figures::improvement(context, sheet)
}

fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sheet = Sheet {
        id: "mil-fig-10",
        title: "Fig. 10: VegasLDA against Vegas in Scenario 2",
        scheme: variants::vegas(),
        traffic: Traffic::SCENARIO_2,
        stated: &[],
        ack_interval: None,
        claims: claims_vegas::scenario_2,
    };
    figures::improvement(context, sheet)
}

fn table_1(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let table = Table {
        id: "mil-table-1",
        title: "Table 1: loss events of NewReno, single bottleneck, Scenario 1",
        scheme: variants::newreno(),
        traffic: Traffic::Alone,
        topology: Topology::Single,
        pers: [1, 9],
        rows: tables::TABLE_1,
        no_target: Some((
            1,
            "NewRenoLDA's 121 events at .01 cannot go together with at least 40 % more throughput under the same loss rate, so \
             that number is shown but no target (MIL-33).",
        )),
        claims: claims_newreno::events,
        needed: &[1, 9],
    };
    tables::run(context, table)
}

fn table_2(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let table = Table {
        id: "mil-table-2",
        title: "Table 2: loss events of Westwood, single bottleneck, Scenario 1",
        scheme: variants::westwood(),
        traffic: Traffic::Alone,
        topology: Topology::Single,
        pers: [1, 8],
        rows: tables::TABLE_2,
        no_target: None,
        claims: claims_westwood::fewer,
        needed: &[1, 8],
    };
    tables::run(context, table)
}

fn table_3(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let table = Table {
        id: "mil-table-3",
        title: "Table 3: loss events of Westwood, multiple bottlenecks, Scenario 1",
        scheme: variants::westwood(),
        traffic: Traffic::Alone,
        topology: Topology::Multiple,
        pers: [4, 8],
        rows: tables::TABLE_3,
        no_target: None,
        claims: claims_westwood::much_fewer,
        needed: &[4, 8],
    };
    tables::run(context, table)
}

fn table_4(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let table = Table {
        id: "mil-table-4",
        title: "Table 4: actions of Vegas, single bottleneck, Scenario 1",
        scheme: variants::vegas(),
        traffic: Traffic::Alone,
        topology: Topology::Single,
        pers: [1, 9],
        rows: tables::TABLE_4,
        no_target: None,
        claims: claims_vegas::actions_single,
        needed: &[1, 9],
    };
    tables::run(context, table)
}

fn table_5(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let table = Table {
        id: "mil-table-5",
        title: "Table 5: actions of Vegas, multiple bottlenecks, Scenario 1",
        scheme: variants::vegas(),
        traffic: Traffic::Alone,
        topology: Topology::Multiple,
        pers: [7, 9],
        rows: tables::TABLE_5,
        no_target: None,
        claims: claims_vegas::actions_multiple,
        needed: &[7, 9],
    };
    tables::run(context, table)
}

fn table_6(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let table = Table {
        id: "mil-table-6",
        title: "Table 6: actions of Vegas, single bottleneck, Scenario 2",
        scheme: variants::vegas(),
        traffic: Traffic::SCENARIO_2,
        topology: Topology::Single,
        pers: [1, 7],
        rows: tables::TABLE_6,
        no_target: None,
        claims: claims_vegas::balance,
        needed: &findings::PERS,
    };
    tables::run(context, table)
}
