"""Training of deep networks: it learns, stops, restores, resumes, and says what it cannot do."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from softlabel.errors import DivergedError, InputError
from softlabel.networks.deep import (
    CachedLogits,
    DeepTraining,
    FeatureMatch,
    Images,
    Objective,
    OnlineTeacher,
    ViewLogits,
    build_network,
    cached_logits,
    module_logits,
    network_logits,
    score_network,
    train_network,
)
from softlabel.networks.deep.evaluation import calibration_error
from softlabel.networks.deep.features import Tap
from softlabel.networks.deep.parity import precision_parity
from softlabel.networks.deep.prepared import prepared_for
from softlabel.networks.deep.training import Trainer, TrainingSetup
from tests.networks.deep.small import images, network

FAST = DeepTraining(epochs=4, patience=4, batch_size=16, precision="float32")


def weights(net: nn.Module) -> torch.Tensor:
    return torch.cat([value.reshape(-1).double() for value in net.state_dict().values()])


def train(net=None, training=FAST, objective=None, **options):
    net = network() if net is None else net
    return train_network(net, images(), images(40, seed=1), training, objective or Objective(), **options)


def test_it_learns_and_ends_in_evaluation_mode():
    run = train(training=DeepTraining(epochs=15, patience=15, batch_size=16, learning_rate=1e-2, precision="float32"))
    assert run.accuracy > 0.9
    assert not run.network.training
    assert score_network(run.network, images(200, seed=2))[0].accuracy > 0.85
    assert run.epochs[-1].loss < run.epochs[0].loss


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_same_seed_gives_the_same_weights(precision):
    training = DeepTraining(epochs=2, batch_size=16, precision=precision, augment=True)
    first, second = (train(training=training).network for _ in range(2))
    assert torch.equal(weights(first), weights(second))
    other = train(training=DeepTraining(epochs=2, batch_size=16, precision=precision, augment=True, seed=1)).network
    assert not torch.equal(weights(first), weights(other))


def test_it_does_not_disturb_the_users_generator():
    torch.manual_seed(3)
    expected = torch.rand(1)
    net = network()
    torch.manual_seed(3)
    train(net)
    assert torch.equal(torch.rand(1), expected)


def test_patience_ends_it_and_the_best_weights_come_back():
    seen = {}
    net = network()
    training = DeepTraining(epochs=60, patience=3, batch_size=16, learning_rate=3e-2, precision="float32")
    run = train(net, training, callback=lambda epoch, result: seen.update({epoch: weights(net)}))
    assert run.stopped_early
    assert len(run.epochs) == run.best + 3
    assert torch.equal(weights(run.network), seen[run.best])
    best = max((e.accuracy, -e.validation_loss) for e in run.epochs)
    assert (run.epochs[run.best - 1].accuracy, -run.epochs[run.best - 1].validation_loss) == best


def test_one_output_serves_two_classes():
    run = train(
        network(classes=1), DeepTraining(epochs=15, patience=15, batch_size=16, learning_rate=1e-2, precision="float32")
    )
    assert run.accuracy > 0.9
    assert run.network(images().pixels).shape == (60, 1)


@pytest.mark.parametrize(("clip", "largest"), [(1e-3, 1e-3), (1e30, None)])
def test_gradients_are_clipped(clip, largest, monkeypatch):
    seen = []
    step = torch.optim.Adam.step

    def watched(self, *rest):
        norms = [p.grad.norm() for group in self.param_groups for p in group["params"]]
        seen.append(float(torch.stack(norms).norm()))
        return step(self, *rest)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    train(training=DeepTraining(epochs=1, batch_size=16, clip=clip, precision="float32"))
    assert (max(seen) <= largest * 1.001) if largest else (max(seen) > 1e-2)


def test_weights_that_diverge_in_the_last_step_raise():
    with pytest.raises(DivergedError, match="epoch 1"):
        train(training=DeepTraining(epochs=1, batch_size=60, learning_rate=1e38, clip=1e30, precision="float32"))


def test_a_last_batch_of_one_image_joins_the_one_before():
    net = build_network("resnet8", 2, (1, 4, 4), 0.25)  # ends with one place for each channel
    run = train_network(net, images(33, size=4), images(20, size=4, seed=1), DeepTraining(epochs=1, batch_size=16))
    assert np.isfinite(run.epochs[0].loss)


def test_features_are_matched_over_the_entire_batch():
    """More images than a teacher is asked for at once elsewhere."""
    data = images(600, size=4)
    setup = TrainingSetup(data, data, DeepTraining(batch_size=600, precision="float32"), Objective(feature_weight=1.0),
                    teacher=network(size=4, seed=2), match=FeatureMatch("2", "2"))  # fmt: skip
    trainer = Trainer(network(size=4, dropout=0.0), setup)
    trainer.network.train()
    trainer.network(data.pixels)
    result = trainer._features(data.pixels)
    own = trainer.network[:3](data.pixels)
    known = setup.teacher.eval()[:3](data.pixels)
    assert result.item() == pytest.approx((own - known).square().mean().item(), rel=1e-3)


def test_a_training_that_diverges_raises():
    class Bursting(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network(dropout=0.0)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return self.inner(x) * (float("nan") if self.training and self.calls > 6 else 1.0)

    with pytest.raises(DivergedError, match="epoch 2"):
        train(Bursting())


def test_soft_labels_alone_lead_to_the_teacher():
    teacher = train(
        training=DeepTraining(epochs=15, patience=15, batch_size=16, learning_rate=1e-2, precision="float32")
    ).network
    data = images()
    labels = Images.from_arrays(data.pixels, 1 - data.labels.numpy(), 2)  # all labels are wrong
    training = DeepTraining(epochs=20, patience=20, batch_size=16, learning_rate=1e-2, precision="float32")
    soft = cached_logits(teacher, labels)
    run = train_network(network(seed=5), labels, images(40, seed=1), training, Objective(1.0, 2.0), soft=soft)
    assert run.accuracy > 0.9


def test_cached_logits_equal_an_online_teacher_bit_by_bit():
    teacher = network(seed=7).eval()
    result = [
        train(objective=Objective(1.0, 2.0), soft=soft).network
        for soft in (cached_logits(teacher, images()), OnlineTeacher(module_logits(teacher)))
    ]
    assert weights(result[0]) == pytest.approx(weights(result[1]), abs=1e-6)


def test_views_equal_an_online_teacher_on_augmented_images():
    teacher = network(seed=7).eval()
    training = DeepTraining(epochs=4, batch_size=16, precision="float32", augment=True, views=2)
    views = ViewLogits(module_logits(teacher), images(), training.seed)
    result = [
        train(training=training, objective=Objective(1.0, 2.0), soft=soft).network
        for soft in (views, OnlineTeacher(module_logits(teacher)))
    ]
    assert weights(result[0]) == pytest.approx(weights(result[1]), abs=1e-6)
    assert sorted(views.computed) == [0, 1]


@pytest.mark.parametrize("name", ["vgg2+3", "resnet8"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_resuming_gives_the_weights_of_an_uninterrupted_run(tmp_path, name, precision):
    """Three channels and several convolutions: their moments must come back in the layout of their weights."""
    training = DeepTraining(epochs=5, batch_size=16, precision=precision)
    path = tmp_path / "state.safetensors"

    def train(**options):
        net = build_network(name, 2, (3, 8, 8), 0.1)
        return train_network(net, images(channels=3), images(40, channels=3, seed=1), training, **options)

    class Stop(Exception):
        pass

    def stop(epoch, result):
        if epoch == 3:
            raise Stop

    uninterrupted = train().network
    with pytest.raises(Stop):
        train(checkpoint=path, callback=stop)
    again = train(checkpoint=path)
    assert len(again.epochs) == 5
    assert torch.equal(weights(again.network), weights(uninterrupted))
    assert torch.equal(weights(train(checkpoint=path).network), weights(uninterrupted))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            {"training": DeepTraining(epochs=4, patience=4, batch_size=16, learning_rate=2e-3, precision="float32")},
            "settings differs",
        ),
        ({"net": network(seed=9)}, "init differs"),
        ({"objective": Objective(smoothing=0.1)}, "objective differs"),
        ({"soft": CachedLogits(torch.ones(60, 2), images().fingerprint)}, "soft differs"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, change, what):
    path = tmp_path / "state.safetensors"
    soft = CachedLogits(torch.zeros(60, 2), images().fingerprint)
    train(checkpoint=path, soft=soft)
    with pytest.raises(InputError, match=what):
        train(**({"checkpoint": path, "soft": soft} | change))


@pytest.mark.parametrize("kind", ["online", "views", "match"])
def test_a_checkpoint_knows_its_teacher(tmp_path, kind):
    path = tmp_path / "state.safetensors"

    def train_by(teacher):
        function = module_logits(teacher)
        if kind == "match":
            return train(checkpoint=path, objective=Objective(feature_weight=1.0), teacher=teacher,
                         match=FeatureMatch("2", "2"))  # fmt: skip
        soft = OnlineTeacher(function) if kind == "online" else ViewLogits(function, images(), 0)
        training = DeepTraining(epochs=2, batch_size=16, precision="float32", augment=kind == "views")
        return train(checkpoint=path, training=training, objective=Objective(1.0), soft=soft)

    train_by(network(seed=3))
    train_by(network(seed=3))
    with pytest.raises(InputError, match="belongs to another training"):
        train_by(network(seed=4))


def test_views_of_another_seed_are_refused():
    views = ViewLogits(module_logits(network(seed=7)), images(), seed=1)
    with pytest.raises(InputError, match="drawn with seed 1, the training has seed 0"):
        train(training=DeepTraining(epochs=1, augment=True, views=2), objective=Objective(1.0), soft=views)


def test_any_function_may_teach():
    teacher = network(seed=7).eval()
    soft = cached_logits(lambda pixels: teacher(pixels), images())
    assert not soft.logits.requires_grad
    train(objective=Objective(1.0), soft=soft)
    train(objective=Objective(1.0), soft=OnlineTeacher(lambda pixels: teacher(pixels)))
    assert all(parameter.grad is None for parameter in teacher.parameters())


def test_a_broken_checkpoint_raises(tmp_path):
    path = tmp_path / "state.safetensors"
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="remove it to start over"):
        train(checkpoint=path)


def test_matched_features_are_learned():
    teacher = network(seed=7).eval()
    before, after = network(seed=8), network(seed=8)
    objective = Objective(feature_weight=50.0)
    training = DeepTraining(epochs=12, patience=12, batch_size=16, learning_rate=1e-2, precision="float32")
    train(after, training, objective, teacher=teacher, match=FeatureMatch("2", "2"))

    def away(net):
        x = images().pixels
        return (net[:3](x) - teacher[:3](x)).square().mean().item()

    assert away(after.eval()) < 0.5 * away(before.eval())
    assert not after[2]._forward_hooks


def test_a_tap_keeps_what_a_later_layer_overwrites():
    vgg = build_network("vgg1+3", 2, (1, 8, 8), 0.1)
    tap = Tap(vgg, "features.1")  # followed by ReLU in place
    network_logits(vgg, images().pixels)
    assert tap.take().min() < 0
    tap.close()


def test_wide_teachers_give_knowledge_of_some_units():
    torch.manual_seed(0)
    wide = nn.Sequential(nn.Conv2d(1, 9, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9 * 16, 2))
    run = train(objective=Objective(feature_weight=1.0), teacher=wide, match=FeatureMatch("2", "1"))
    assert np.isfinite(run.epochs[-1].loss)
    with pytest.raises(InputError, match="9 units, the teacher's only 4"):
        train(
            copy.deepcopy(wide),
            objective=Objective(feature_weight=1.0),
            teacher=network(),
            match=FeatureMatch("1", "2"),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": Objective(1.0)}, "needs soft labels"),
        ({"net": network(classes=3)}, "shape \\(2, 3\\) for 2 images of 2 classes"),
        ({"net": network(size=6)}, "cannot take images of \\(1, 8, 8\\)"),
        ({"objective": Objective(feature_weight=1.0)}, "names of both layers"),
        (
            {"objective": Objective(feature_weight=1.0), "teacher": network(), "match": FeatureMatch("7", "2")},
            "unknown layer '7': there are 0, 1, 2, 3, 4, 5, 6",
        ),
        (
            {"objective": Objective(1.0), "soft": CachedLogits(torch.zeros(60, 2), "another")},
            "on other images or in another order",
        ),
        ({"objective": Objective(1.0), "soft": CachedLogits(torch.zeros(50, 2), "x")}, "shape \\(50, 2\\)"),
        (
            {
                "objective": Objective(1.0), "soft": CachedLogits(torch.zeros(60, 2), images().fingerprint),
                "training": DeepTraining(epochs=1, augment=True),
            },
            "belong to images without augmentation",
        ),
    ],
)  # fmt: skip
def test_bad_trainings(options, message):
    with pytest.raises(InputError, match=message):
        train(**options)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs must be"),
        ({"learning_rate": float("nan")}, "learning_rate must be"),
        ({"weight_decay": -1}, "weight_decay must lie between 0 and"),
        ({"precision": "half"}, "unknown precision"),
        ({"views": 2}, "`views` need `augment`"),
        ({"device": "cuda"}, "no CUDA device"),
        ({"device": "gpu"}, "device must be cpu, cuda"),
    ],
)
def test_bad_settings(values, message):
    if values.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(InputError, match=message):
        DeepTraining(**values)


def test_validation_of_other_images_is_refused():
    with pytest.raises(InputError, match="validation images are"):
        train_network(network(), images(), images(size=6), FAST)


def test_parity_of_precisions_is_small_and_leaves_the_network():
    net = prepared_for(network(dropout=0.5), images())
    before = weights(net)
    result = precision_parity(net, images())
    assert 0 < result.relative_error < 0.1
    assert result.cosine > 0.99
    assert torch.equal(weights(net), before)


def test_parity_takes_networks_with_parts_that_only_train():
    class Helped(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.helper = network(), nn.Linear(2, 2)

        def forward(self, x):
            return self.helper(self.inner(x)) if self.training else self.inner(x)

    assert precision_parity(Helped(), images()).cosine > 0.99


def test_prepared_networks_see_mean_0_and_spread_1():
    data = images(channels=3)
    seen = []
    inner = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 2))
    inner.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    network_logits(prepared_for(inner, data), data.pixels)
    table = torch.cat(seen)
    assert table.mean((0, 2, 3)).tolist() == pytest.approx([0] * 3, abs=1e-5)
    assert table.std((0, 2, 3)).tolist() == pytest.approx([1] * 3, abs=1e-3)


def test_calibration_error_by_hand():
    confidence, right = np.array([0.9, 0.9, 0.6, 0.6]), np.array([1.0, 0.0, 1.0, 1.0])
    assert calibration_error(confidence, right) == pytest.approx(0.5 * 0.4 + 0.5 * 0.4)
    assert calibration_error(np.ones(5), np.ones(5)) == 0
