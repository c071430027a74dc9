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
use self::network::Topology::{Multiple, Single};
use self::network::Traffic;
use self::tables::Table;
use self::variants::{newreno, vegas, westwood};

/// The least number of replications of a mean; its precision asks for the rest (MIL-A2).
const SEEDS: u64 = 10;

/// Every table and figure of the paper with results, and what helps to judge them.
pub(crate) static EXPERIMENTS: &[Experiment] = &[
    experiment(
        "mil-fig-3",
        "NewRenoLDA against NewReno, Scenario 1",
        |context| {
            let title = "Fig. 3: NewRenoLDA against NewReno in Scenario 1";
            let sheet = Sheet::new("mil-fig-3", title, newreno(), Traffic::Alone);
            sheet.improvement(context, claims_newreno::scenario_1)
        },
    ),
    experiment(
        "mil-fig-4",
        "throughput of NewReno and NewRenoLDA over three bottlenecks",
        |context| {
            let title =
                "Fig. 4: throughput of the forward flow over three bottlenecks in Scenario 1";
            let sheet = Sheet::new("mil-fig-4", title, newreno(), Traffic::Alone);
            sheet.degradation(context, claims_newreno::degradation)
        },
    ),
    experiment(
        "mil-fig-5",
        "NewRenoLDA against NewReno, Scenario 2",
        |context| {
            let title = "Fig. 5: NewRenoLDA against NewReno in Scenario 2";
            let sheet = Sheet::new("mil-fig-5", title, newreno(), Traffic::SCENARIO_2);
            sheet.improvement(context, claims_newreno::scenario_2)
        },
    ),
    experiment(
        "mil-fig-6",
        "WestwoodLDA against Westwood, Scenario 1",
        |context| {
            let title = "Fig. 6: WestwoodLDA against Westwood in Scenario 1";
            Sheet::new("mil-fig-6", title, westwood(), Traffic::Alone)
                .stated(&[
                    (Single, 1, 11.91),
                    (Single, 8, -6.58),
                    (Multiple, 4, -11.91),
                    (Multiple, 8, 33.24),
                ])
                .ack_intervals([4.194, 5.499])
                .improvement(context, claims_westwood::scenario_1)
        },
    ),
    experiment(
        "mil-fig-7",
        "WestwoodLDA against Westwood, Scenario 2",
        |context| {
            let title = "Fig. 7: WestwoodLDA against Westwood in Scenario 2";
            Sheet::new("mil-fig-7", title, westwood(), Traffic::SCENARIO_2)
                .stated(&[(Single, 5, 1.65)])
                .improvement(context, claims_westwood::scenario_2)
        },
    ),
    experiment(
        "mil-fig-8",
        "acknowledgements at a WestwoodLDA sender, Scenario 2",
        acks::fig_8,
    ),
    experiment(
        "mil-fig-9",
        "VegasLDA against Vegas, Scenario 1",
        |context| {
            let title = "Fig. 9: VegasLDA against Vegas in Scenario 1";
            let sheet = Sheet::new("mil-fig-9", title, vegas(), Traffic::Alone);
            sheet.improvement(context, claims_vegas::scenario_1)
        },
    ),
    experiment(
        "mil-fig-10",
        "VegasLDA against Vegas, Scenario 2",
        |context| {
            let title = "Fig. 10: VegasLDA against Vegas in Scenario 2";
            let sheet = Sheet::new("mil-fig-10", title, vegas(), Traffic::SCENARIO_2);
            sheet.improvement(context, claims_vegas::scenario_2)
        },
    ),
    experiment(
        "mil-table-1",
        "loss events of NewReno, Scenario 1",
        |context| {
            let title = "Table 1: loss events of NewReno, single bottleneck, Scenario 1";
            Table::new("mil-table-1", title, newreno(), Traffic::Alone)
            .columns(Single, [1, 9], tables::TABLE_1)
            .no_target(
                1,
                "NewRenoLDA's 121 events at .01 cannot go together with at least 40 % more throughput under the same loss rate, so \
                 that number is shown but no target (MIL-33).",
            )
            .run(context, &[1, 9], claims_newreno::events)
        },
    ),
    experiment(
        "mil-table-2",
        "loss events of Westwood, single bottleneck, Scenario 1",
        |context| {
            let title = "Table 2: loss events of Westwood, single bottleneck, Scenario 1";
            Table::new("mil-table-2", title, westwood(), Traffic::Alone)
                .columns(Single, [1, 8], tables::TABLE_2)
                .run(context, &[1, 8], claims_westwood::fewer)
        },
    ),
    experiment(
        "mil-table-3",
        "loss events of Westwood, multiple bottlenecks, Scenario 1",
        |context| {
            let title = "Table 3: loss events of Westwood, multiple bottlenecks, Scenario 1";
            Table::new("mil-table-3", title, westwood(), Traffic::Alone)
                .columns(Multiple, [4, 8], tables::TABLE_3)
                .run(context, &[4, 8], claims_westwood::much_fewer)
        },
    ),
    experiment(
        "mil-table-4",
        "actions of Vegas, single bottleneck, Scenario 1",
        |context| {
            let title = "Table 4: actions of Vegas, single bottleneck, Scenario 1";
            Table::new("mil-table-4", title, vegas(), Traffic::Alone)
                .columns(Single, [1, 9], tables::TABLE_4)
                .run(context, &[1, 9], claims_vegas::actions_single)
        },
    ),
    experiment(
        "mil-table-5",
        "actions of Vegas, multiple bottlenecks, Scenario 1",
        |context| {
            let title = "Table 5: actions of Vegas, multiple bottlenecks, Scenario 1";
            Table::new("mil-table-5", title, vegas(), Traffic::Alone)
                .columns(Multiple, [7, 9], tables::TABLE_5)
                .run(context, &[7, 9], claims_vegas::actions_multiple)
        },
    ),
    experiment(
        "mil-table-6",
        "actions of Vegas, single bottleneck, Scenario 2",
        |context| {
            let title = "Table 6: actions of Vegas, single bottleneck, Scenario 2";
            Table::new("mil-table-6", title, vegas(), Traffic::SCENARIO_2)
                .columns(Single, [1, 7], tables::TABLE_6)
                .run(context, &findings::PERS, claims_vegas::balance)
        },
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
