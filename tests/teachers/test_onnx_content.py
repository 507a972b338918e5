"""ONNX files that cannot be trusted: refused in one line before they run, ended by Ctrl-C while they do, and silent."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from softlabel.errors import InputError
from softlabel.export import export_student, load_model
from softlabel.teachers import onnx_runtime
from softlabel.teachers.asking import ask_teacher
from softlabel.teachers.onnx_runtime import Runtime, interruptible
from softlabel.teachers.onnx_session import OnnxSession
from tests.export.students import raw_inputs, student
from tests.mutations import refusals

FLOAT = TensorProto.FLOAT
ROWS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
