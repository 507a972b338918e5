"""Deep networks for images (VGG c+3 and ResNet), their training and their distillation."""

from softlabel.networks.deep.building import build_network, parameter_count
from softlabel.networks.deep.evaluation import agreement, network_logits, score_logits, score_network
from softlabel.networks.deep.features import FeatureMatch
from softlabel.networks.deep.images import Images
from softlabel.networks.deep.objective import Objective
from softlabel.networks.deep.settings import DeepTraining
from softlabel.networks.deep.teaching import CachedLogits, OnlineTeacher, ViewLogits, cached_logits, module_logits
from softlabel.networks.deep.training import DeepRun, train_network

__all__ = [
    "CachedLogits",
    "DeepRun",
    "DeepTraining",
    "FeatureMatch",
    "Images",
    "Objective",
    "OnlineTeacher",
    "ViewLogits",
    "agreement",
    "build_network",
    "cached_logits",
    "module_logits",
    "network_logits",
    "parameter_count",
    "score_logits",
    "score_network",
    "train_network",
]
