"""A script as a user would write it. It is type-checked, not run: every public name, with its arguments and results."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

import softlabel as sl

Floats = npt.NDArray[np.float64]


def teacher(inputs: Floats) -> Floats:
    return 1 / (1 + np.exp(-5 * inputs[:, 0]))


def show(progress: sl.Progress) -> None:
    print(progress.stage, progress.done / progress.bundles, progress.failed, progress.cells, progress.seconds_left)


def arrays() -> tuple[Floats, npt.NDArray[np.bool_]]:
    X = np.random.default_rng(0).standard_normal((200, 3))
    return X, X[:, 0] > 0


def common(result: sl.Result) -> list[str]:
    print(result.plot().get_figwidth(), result.to_dict()["verdict"], result.report, result.run_dir)
    return result.summary


def load_data() -> sl.Problem:
    problem: sl.Problem = sl.load("data.csv", label="y", task="y>4", scale="standard", drop=["id"], seed=1)
    part: sl.Part = problem.train
    print(part.X.shape, part.y.mean(), part.scaled.dtype, len(part), len(problem), problem.classes[0].upper())
    roles: sl.ColumnRoles = sl.ColumnRoles(categorical=["zip"], group="patient")
    print(roles.group)
    scaler: sl.Scaler = sl.Scaler.fit(part.X, "max")
    print(problem.scaler.how, scaler.factor * 2, scaler.apply(problem.test.X).shape)
    predictions: sl.TeacherPredictions = sl.network_teacher(problem, seed=1)
    print(predictions.labels(part.rows).rows)
    return sl.Problem.from_arrays(*arrays(), name="mine", seed=2).binary()


def should_i_distill() -> sl.Verdict:
    X, y = arrays()
    options = sl.VerdictOptions(confidence=0.9, epochs=20, teacher=sl.TeacherOptions(kind="probabilities"))
    execution = sl.Execution(executor="local", workers=2, progress=show)
    verdict = sl.verdict(X, y, teacher, width=4, seeds=10, student="two-layer", options=options, execution=execution)
    gap: sl.Interval = verdict.gap
    print(
        verdict.verdict.upper(), gap.low + verdict.gap.high, gap.mean, gap.runs, verdict.runs + 1, verdict.runs_needed
    )
    soft: sl.ArmResult = verdict.arms["soft"]
    print(soft.mean, soft.low, soft.high, soft.numbers["log_loss"], soft.parameters, soft.chosen.learning_rate)
    comparison: sl.ArmComparison = verdict.comparisons[0]
    print(comparison.first, comparison.second, comparison.mean, comparison.low, comparison.high, comparison.verdict)
    print(verdict.teacher_metric, *verdict.warnings, *common(verdict))
    return verdict


def how_small() -> sl.Plan:
    options = sl.PlanOptions(share=0.8, confirm=0, rival=True)
    plan = sl.plan(*arrays(), teacher, accuracy=0.9, widths=[2, 4, 8], seeds=5, out=Path("runs/plan"), options=options)
    arm: sl.PlannedArm = plan.soft
    if plan.soft.width is not None and plan.hard.width is not None:
        print(plan.hard.width - plan.soft.width, arm.probability, arm.reached / arm.of, arm.to_dict(0.9)["size"])
    accuracy: sl.Estimate = arm.accuracy
    low, high = accuracy.interval(confidence=0.95)
    print(accuracy.mean, high - low, accuracy.runs, accuracy.error)
    point: sl.Point = plan.curve[0]
    print(point.width, point.accuracy.mean, point.reached, point.limit, point.students, point.parameters)
    rival: sl.Rival | None = plan.rival
    if rival is not None:
        print(rival.width, rival.accuracy.mean, rival.float_accuracy, rival.reached, rival.parameters)
    print(*plan.exported, *common(plan))
    return plan


def check_a_teacher() -> None:
    problem = load_data()
    predictions: sl.TeacherPredictions = sl.query_teacher(problem, teacher, options=sl.TeacherOptions(), seed=3)
    print(predictions.logits.shape, predictions.probabilities.mean(), predictions.kind, predictions.seconds)
    audit: sl.TeacherAudit = sl.audit_teacher(problem, predictions)
    scores = audit.parts["test"]
    print(audit.description, audit.temperature, audit.disagreement.share, len(audit.warnings))
    if scores is not None:
        print(scores.accuracy, scores.calibration_error)


def train_students() -> None:
    X, y = arrays()
    labels: dict[str, sl.Labels] = {
        "hard": sl.hard_labels(y),
        "teacher": sl.soft_labels(teacher(X)),
        "logits": sl.teacher_logits(5 * X[:, 0]),
    }
    print(labels["teacher"].targets(temperature=4.0).mean(), labels["hard"].kind)
    students = [sl.Student(width=8, seed=1, labels=name, learning_rate=0.5, radius=None) for name in labels]

    def look(step: int, weights: sl.Weights) -> None:
        print(step, weights[0].width, weights.latest_record(0)["loss"])

    options = sl.TrainingOptions(precision="float64", record_every=10, callback=look, callback_every=10)
    validation = sl.Validation(X[150:], y[150:], every=5, patience=3)
    run: sl.TrainingRun = sl.train_students(X, students, labels, iterations=50, validation=validation, options=options)
    trained: sl.TrainedStudent = run[0]
    print(len(run), run.seconds, trained.steps, trained.stopped, trained.best_step, trained.records["loss"][-1])
    network: sl.TwoLayer = trained.network
    print(network.logits(X).mean(), network.width, network.parameters, sl.TwoLayer.initialized("he", width=4, inputs=3))
    result: sl.TrainedStudents = sl.train(X, y, width=[4, 8], seeds=2, student=students[0], epochs=5)
    print(result.students[0].test_error, result.networks[0].width, result.seconds, *common(result))


def classify() -> None:
    X, y = arrays()
    options = sl.ClassifierOptions(scale="max", biases=False)
    student = sl.TwoLayerClassifier(width=8, temperature=2.0, random_state=0, options=options)
    student.fit(X, y, soft_labels=np.stack([1 - teacher(X), teacher(X)], 1))
    distilled = sl.DistilledClassifier(student=student, cv=3, random_state=0).fit(X, y)
    print(distilled.predict_proba(X).mean(), distilled.predict(X)[0], distilled.folds_, student.n_iter_, student.loss_)
    model: sl.StudentModel = student.model_
    exported: sl.Exported = sl.export_student(model, "students", "mine", X)
    print(exported.paths[0].name, exported.bytes, exported.parity["onnx"])
    path = exported.path("onnx")
    assert path is not None
    loaded: sl.LoadedModel = sl.load_model(path)
    print(loaded.kind, loaded.classes, loaded.probabilities(X).shape, loaded.predict(X)[0], loaded.softening.note)
    predictions: sl.Predictions = sl.predict(model, X, out="predictions.csv")
    print(predictions.predicted[0], predictions.probabilities.max(), predictions.accuracy, *common(predictions))


def distill_images() -> sl.Distillation:
    pixels, y = np.random.default_rng(0).random((40, 1, 8, 8)), np.arange(40) % 2
    images: sl.Images = sl.Images.from_arrays(pixels, y)
    network: nn.Module = sl.build_network("vgg1+3", classes=2, image=images.shape, width_multiplier=0.1)
    training = sl.DeepTraining(epochs=2, batch_size=8, learning_rate=1e-3, weight_decay=0.0, precision="float32")
    run: sl.DeepRun = sl.train_network(network, images.rows(range(30)), images.rows(range(30, 40)), training)
    print(run.network(torch.zeros(1, 1, 8, 8)), run.best, run.accuracy, run.epochs[0].loss, run.stopped_early)
    objective = sl.Objective(soft_share=0.9, temperature=4.0, feature_weight=0.1)
    match = sl.FeatureMatch("blocks.0", "blocks.0")
    options = sl.DistillOptions(width_multiplier=0.25, progress=lambda arm, epoch, record: print(arm, record.loss))
    result = sl.distill((pixels, y), run.network, "vgg1+3", training=training, objective=objective, match=match,
                        smoothing=0.1, out="runs/images", options=options)  # fmt: skip
    arm: sl.DistilledArm = result.arms["soft"]
    scores: sl.TeacherScores = result.teacher
    files: sl.ExportedStudent = result.exported["soft"]
    print(arm.accuracy, arm.agreement, arm.kl, arm.parameters, arm.probabilities_are, scores.accuracy, files.onnx.name)
    print(files.bytes, files.onnx_parity, files.weights, result.students["soft"].training, *common(result))
    return result


def theory() -> None:
    X, y = arrays()
    options = sl.MarginOptions(confidence=0.99, kappa=2.0, init_widths=[8])
    margin: sl.DatasetMargin = sl.margin(X, y, rows=50, rtol=0.1, time_limit=5.0, options=options)
    base: sl.Margin = margin
    state: sl.MarginProgress = margin.history[-1]
    print(margin.lower, margin.upper, margin.kernel[0], base.q.sum(), state.stage, state.upper, margin.dataset)
    limit: sl.KernelLimitTeacher = sl.KernelLimitTeacher.from_margin(margin, X, y)
    print(limit.soft_labels(X).mean(), sl.init_margin(X, y, np.eye(3)), sl.kernel_matrix(X, kind="both").trace())
    need = sl.bounds.soft(gamma=margin.lower, epsilon=0.1, n=50)
    print(need.width, need.radius, sl.bounds.hard_width(gamma=0.1, epsilon=0.1, n=50))
    print(sl.bounds.width_curves([0.05, 0.1], epsilon=0.1, n=50)["tight"]["soft"][0])
    print(sl.bounds.overview(gamma=0.1, epsilon=0.1, n=50).families["tight"]["soft"].iterations)
    audit: sl.Audit = sl.audit(X, y, teacher=limit, arm="soft", width=64, options=sl.AuditOptions(kappa=0.5))
    print(audit.holds, audit.checks[0].worst, audit.certificate.bound, audit.certificate.measured, *common(audit))


def kernel_regime() -> None:
    def follow(state: sl.DynamicsProgress) -> None:
        if state.prediction is not None:
            prediction: sl.DynamicsPrediction = state.prediction
            print(prediction.predicted.shape, state.done / state.total)

    options = sl.DynamicsOptions(activation="tanh", learning_rate=0.1, test_rows=20, progress=follow)
    result: sl.DynamicsResult = sl.dynamics(*arrays(), rows=50, width=20, strength=1.0, options=options)
    print(result.deviation, result.predicted.shape, result.curve[0]["simulated"], result.drift, *common(result))
    sweep: sl.Sweep = sl.dynamics("digits", width=20, sweep={"strengths": [0, 1]})
    print(sweep.rows[0], sweep.facts, *common(sweep))
    problem: sl.KernelProblem = sl.KernelProblem.from_arrays(
        x=np.eye(1), features=[[0.5]], slopes=[[1.0]], output=[1.0], privileged=[[0.0]], y=[1.0], strength=1.0
    )
    dynamics: sl.Dynamics = sl.kernel_dynamics(problem, vectors=5)
    print(dynamics(2.5).mean(), dynamics.poles.max(), dynamics.max_learning_rate)


def papers() -> None:
    table: sl.Table1Result = sl.reproduce("table1", preset="quick", settings={"runs": 5}, out="runs/table1")
    figure: sl.Figure1Result = sl.reproduce("figure1", seed=1, execution=sl.Execution(progress=False))
    regime: sl.KernelRegimeResult = sl.reproduce("kernel-regime", data="cifar10")
    ordinary: sl.OrdinaryResult = sl.reproduce("ordinary")
    mechanism: sl.MechanismResult = sl.reproduce("mechanism")
    widths: sl.WidthScalingResult = sl.reproduce("width-scaling")
    rows: sl.ConditionsResult = sl.reproduce("sample-size")
    claim: sl.Claim = sl.claims()[0]
    print(claim.key, claim.verdict, claim.studies[0], claim.commands)
    studies: sl.AllStudies = sl.reproduce("all", out="runs/all")
    print(ordinary.printed[0].inside, mechanism.primary.mean, widths.exponents[0].levels, rows.primary.low)
    print(studies.results["table1"].summary)
    print(table.primary[0].p, figure.families[0].slope.mean, regime.figures[0].verdict, *common(figure))
    name = input("study: ")
    result: sl.Result = sl.reproduce(name, "standard")
    for run in (result, sl.read_run("runs/figure1"), sl.resume("runs/kernel-regime", sl.Execution(workers=1))):
        if isinstance(run, sl.Table1Result):
            print(run.primary[0].gap.mean, run.primary[0].verdict, run.drops)
        elif isinstance(run, sl.Figure1Result):
            print(run.families[0].slope.low, run.families[0].verdict)
        elif isinstance(run, sl.KernelRegimeResult):
            print(run.figures[0].claim, run.steps.shape)


def look_at_runs() -> None:
    for run_dir in sl.find_runs("runs", limit=100):
        state: sl.RunState = sl.inspect_run(run_dir)
        print(
            state.run_dir.name, state.study, state.status.upper(), state.done, state.problem, state.data, state.report
        )
        if state.status == "running":
            progress: sl.Progress = sl.run_progress(run_dir)
            print(f"{progress.share:.0%}", sl.inspect_run(run_dir, known=state) is state)
        elif state.status == "finished":
            result: sl.Result = sl.read_run(run_dir, rewrite=False)
            print(result.answer, sl.run_document(run_dir)["settings"], sl.export_cells(run_dir, "cells.csv")["rows"])
        failures: list[sl.RunBundle] = [bundle for bundle in state.bundles if bundle.status == "failed"]
        print([(bundle.stage, bundle.name, bundle.reason, bundle.seconds) for bundle in failures])


def open_the_explorer() -> None:
    sl.explore("runs", port=9000, browser=False, ready=print)


def examine() -> None:
    try:
        examination: sl.Examination = sl.doctor("runs/table1", Path("data.csv"), label="y", id_column="id")
    except (sl.InputError, sl.UnavailableError, sl.DivergedError) as error:
        raise SystemExit(str(error)) from error
    except sl.SoftlabelError:
        raise
    table: sl.TablePreview = sl.preview("data.csv")
    column: sl.ColumnPreview = table.columns[0]
    print(column.name)
    finding: sl.Finding = examination.findings[0]
    print(finding.name, finding.severity, finding.where, finding.evidence, finding.remedy, examination.headline)


if __name__ == "__main__":
    print(sl.__version__, should_i_distill(), how_small(), distill_images())
    for part_of_the_script in (
        check_a_teacher, train_students, classify, theory, kernel_regime, papers, look_at_runs, examine,
        open_the_explorer,
    ):  # fmt: skip
        part_of_the_script()
