"""BibTeX entries for the papers and data that a study uses."""

from collections.abc import Sequence

from softlabel import __version__
from softlabel.data.catalogue import CATALOGUE

CITATIONS = {
    "mandal": """@misc{mandal2024theoretical,
  title         = {A Theoretical Analysis of Soft-Label vs Hard-Label Training in Neural Networks},
  author        = {Saptarshi Mandal and Xiaojun Lin and R. Srikant},
  year          = {2024},
  eprint        = {2412.09579},
  archiveprefix = {arXiv}
}""",
    "rahbar": """@misc{rahbar2020unreasonable,
  title         = {On the Unreasonable Effectiveness of Knowledge Distillation: Analysis in the Kernel Regime},
  author        = {Arman Rahbar and Ashkan Panahi and Chiranjib Bhattacharyya and Devdatt Dubhashi
                   and Morteza Haghir Chehreghani},
  year          = {2020},
  eprint        = {2003.13438},
  archiveprefix = {arXiv}
}""",
    "digits": """@misc{alpaydin1998optical,
  title        = {Optical Recognition of Handwritten Digits},
  author       = {E. Alpaydin and C. Kaynak},
  year         = {1998},
  howpublished = {UCI Machine Learning Repository}
}""",
    "mnist": """@misc{lecun1998mnist,
  title  = {The {MNIST} Database of Handwritten Digits},
  author = {Yann LeCun and Corinna Cortes and Christopher J. C. Burges},
  year   = {1998}
}""",
    "fashion-mnist": """@misc{xiao2017fashion,
  title         = {{Fashion-MNIST}: a Novel Image Dataset for Benchmarking Machine Learning Algorithms},
  author        = {Han Xiao and Kashif Rasul and Roland Vollgraf},
  year          = {2017},
  eprint        = {1708.07747},
  archiveprefix = {arXiv}
}""",
    "cifar10": """@techreport{krizhevsky2009learning,
  title       = {Learning Multiple Layers of Features from Tiny Images},
  author      = {Alex Krizhevsky},
  institution = {University of Toronto},
  year        = {2009}
}""",
    "softlabel": f"""@software{{softlabel,
  title   = {{softlabel: soft labels or hard labels, how small a student, and what can be proved}},
  author  = {{{{The softlabel developers}}}},
  version = {{{__version__}}}
}}""",
}

USED = {  # by study; those that are not listed use Mandal's paper
    "kernel-regime": ("rahbar",),
    "mechanism": ("mandal", "rahbar"),
}


def citations(study: str, data: str | None = None) -> Sequence[str]:
    """BibTeX entries of the papers behind a study, of its data set, and of softlabel.

    data    the name of a data set, or the description of a problem, which begins with it
    """
    name = (data or "").split(":")[0]
    names = [*USED.get(study, ("mandal",)), *([name] if name in CATALOGUE else []), "softlabel"]
    return [CITATIONS[name] for name in names]
