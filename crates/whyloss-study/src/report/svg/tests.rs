//! Renders synthetic figures.

use super::super::example;
use super::*;

/// Draws the first two lines of two panels, to keep the snapshot short.
#[test]
fn lines() {
    let mut figure = example::figure().figures.swap_remove(0);
    figure.panels.truncate(2);
    for panel in &mut figure.panels {
        panel.series.drain(1..4);
        panel.series.truncate(2);
        for series in &mut panel.series {
            series.points.truncate(3);
        }
    }
    insta::assert_snapshot!(render(&figure));
}

#[test]
fn bars() {
    insta::assert_snapshot!(render(&example::figure().figures[1]));
}

fn panel(log_y: bool, points: Vec<(f64, f64, Option<f64>)>) -> Panel {
    Panel {
        title: "a < b & c".into(),
        x_label: String::new(),
        y_label: String::new(),
        log_x: false,
        log_y,
        series: vec![Series {
            name: "s".into(),
            look: Look::Line,
            points,
        }],
    }
}

#[test]
fn nothing_that_can_be_measured_breaks_it() {
    for (log_x, log_y) in [(false, false), (false, true), (true, false), (true, true)] {
        for points in [
            vec![],
            vec![(1.0, 0.0, None)],
            vec![(1.0, f64::NAN, Some(1.0)), (2.0, 3.0, Some(f64::NAN))],
            vec![(1.0, 2.0, Some(5.0)), (1.0, 2.0, None)],
            vec![
                (-1.0, -2.0, None),
                (1e9, f64::INFINITY, None),
                (3.0, 1e12, None),
            ],
        ] {
            let svg = render(&Figure {
                name: "f".into(),
                caption: String::new(),
                panels: vec![Panel {
                    log_x,
                    ..panel(log_y, points)
                }],
            });
            roxmltree::Document::parse(&svg).expect("well-formed");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
    let empty = Figure {
        name: "f".into(),
        caption: String::new(),
        panels: vec![],
    };
    roxmltree::Document::parse(&render(&empty)).expect("well-formed");
}

/// 0 … 97 %: the step is 20, because 97/7 = 13.9 rounds up to 1, 2 or 5 times a power of ten. The
/// axis ends at 97 + 5 %.
#[test]
fn round_ticks_by_hand() {
    let axis = axis::y(&panel(
        false,
        vec![(1.0, 3.0, None), (2.0, 95.0, Some(2.0))],
    ));
    assert_eq!(axis.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    assert!(axis.start == 0.0 && (axis.end - 101.85).abs() < 1e-9);
    assert_eq!(axis.label(20.0), "20");
}

/// 91 … 99 are far from zero. The step is 2, since 8/7 = 1.1, and margins of 0.4 end at 90.6 and
/// 99.4.
#[test]
fn far_from_zero_the_axis_does_not_begin_there() {
    let axis = axis::y(&panel(false, vec![(1.0, 91.0, None), (2.0, 99.0, None)]));
    assert_eq!(axis.ticks, [92.0, 94.0, 96.0, 98.0]);
}

#[test]
fn powers_of_ten() {
    let axis = axis::y(&panel(
        true,
        vec![(1.0, 0.00005, None), (2.0, 20_000.0, None)],
    ));
    assert_eq!((axis.start, axis.end), (-5.0, 5.0));
    let labels: Vec<_> = axis.ticks.iter().map(|&tick| axis.label(tick)).collect();
    assert_eq!(labels, ["10⁻⁵", "10⁻³", "10⁻¹", "10¹", "10³", "10⁵"]);
}

#[test]
fn few_places_are_their_own_ticks() {
    let points = |xs: &[f64]| xs.iter().map(|&x| (x, 1.0, None)).collect();
    let flows = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0];
    assert_eq!(axis::x(&panel(false, points(&flows)), None).ticks, flows);
    // Where labels would touch, round numbers replace the places. Here 40 and 128 touch at a length
    // of 1464.
    let coverages = [40.0, 128.0, 512.0, 1024.0, 1464.0];
    let ticks = axis::x(&panel(false, points(&coverages)), None).ticks;
    assert!(!ticks.contains(&128.0), "{ticks:?}");
    let many: Vec<f64> = (0..=50).map(f64::from).collect();
    let ticks = axis::x(&panel(false, points(&many)), None).ticks;
    assert_eq!(ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
}

fn log_x(xs: &[f64]) -> Axis {
    let points = xs.iter().map(|&x| (x, 1.0, None)).collect();
    let panel = Panel {
        log_x: true,
        ..panel(false, points)
    };
    axis::x(&panel, None)
}

#[test]
fn panels_over_one_time_show_one_span() {
    let over = |from: u32, to: u32| {
        let points = (from..=to).map(|second| (f64::from(second), 1.0, None));
        panel(false, points.collect())
    };
    let mut figure = Figure::of("a", "b", over(10, 90));
    assert_eq!(axis::shared(&figure), None);
    figure.panels.push(over(0, 100));
    assert_eq!(axis::shared(&figure), Some((0.0, 100.0)));
    let ends = figure.panels.iter().map(|panel| {
        let axis = axis::x(panel, axis::shared(&figure));
        (axis.start, axis.end)
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(-4.0, 104.0); 2]);
    figure.panels[1].x_label = "flows".into();
    assert_eq!(axis::shared(&figure), None);
}

/// 10⁻⁵ … 10⁻¹ are four decades, so margins are 0.16. Every power of ten is a tick.
#[test]
fn a_logarithmic_x_axis_by_hand() {
    let axis = log_x(&[1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 1e-1]);
    assert_eq!(axis.ticks, [-5.0, -4.0, -3.0, -2.0, -1.0]);
    assert!((axis.start + 5.16).abs() < 1e-9 && (axis.end + 0.84).abs() < 1e-9);
    assert_eq!(axis.place(1e-5), Some(-5.0));
    assert_eq!(axis.place(0.0), None);
    assert_eq!(axis.label(-5.0), "10⁻⁵");
    // 10 and 100 are between 2 and 700.
    assert_eq!(log_x(&[2.0, 700.0]).ticks, [1.0, 2.0]);
    // Only 10 is between 2 and 50, so the axis spans 1 to 100.
    let axis = log_x(&[2.0, 50.0]);
    assert_eq!((axis.start, axis.end), (0.0, 2.0));
    assert_eq!(axis.ticks, [0.0, 1.0, 2.0]);
}

/// Equal ratios take equal steps. Zero has no position and breaks the line.
#[test]
fn lines_over_powers_of_ten() {
    let mut lossy = panel(
        false,
        vec![
            (0.0, 4.0, None),
            (1e-5, 4.0, Some(0.5)),
            (1e-3, 3.0, Some(0.5)),
            (1e-1, 1.0, None),
        ],
    );
    lossy.log_x = true;
    lossy.x_label = "packet error rate".into();
    insta::assert_snapshot!(render(&Figure {
        name: "f".into(),
        caption: String::new(),
        panels: vec![lossy],
    }));
}
