"""Commands at small settings whose documents are recorded, and the files they work on.

A case is a list of commands run in one directory, where `files.write_files` has put its data; the document of the last
one is compared.
"""

CASES: dict[str, list[str]] = {
    "bounds": ["bounds --gamma 0.1 --epsilon 0.1 --n 1000 --delta 0.05"],
    "cite": ["cite"],
    "margin-digits": ["margin digits --rows 60"],
    "margin-file": ["margin two.csv --label y --drop id --scale max --work-limit 1e10 --out margin"],
    "margin-classes": ["margin three.csv --label y --drop id --scale max --several-classes --work-limit 1e10"],
    "audit-soft": ["audit digits --rows 40 --width 32 --iterations 30"],
    "audit-hard": [
        "audit two.csv --label y --drop id --scale max --arm hard --width 32 --radius 20 --learning-rate 0.1 "
        "--iterations 30"
    ],
    "train": ["train digits --width 4 --width 8 --seeds 2 --epochs 3 --radius 50 --learning-rate 10 --out train"],
    "train-file": [
        "train two.csv --label y --drop id --width 4 --seeds 2 --epochs 3 --optimizer adam "
        "--learning-rate 0.01 --init he"
    ],
    "dynamics": ["dynamics digits --rows 30 --width 10 --teacher-width 40 --iterations 100"],
    "dynamics-choices": ["dynamics digits --rows 20 --width 5 --teacher-width 20 --iterations 40 --choices 2,4"],
    "distill": [
        "distill images.npz --teacher vgg1+3 --student vgg1+3 --width-multiplier 0.1 --teacher-width-multiplier 0.1 "
        "--epochs 2 --out distill"
    ],
    "verdict-file": ["verdict three.csv --label y --drop id --seeds 5 --epochs 4 --width 4 --out verdict"],
    "verdict-labels": [
        "verdict two.csv --label y --teacher labels.csv --id id --seeds 5 --epochs 4 --width 4 --out verdict"
    ],
    "verdict-digits": ["verdict digits --task label>4 --seeds 5 --epochs 4 --width 4 --out verdict"],
    "plan": ["plan digits --accuracy 0.5 --widths 4,8,16 --seeds 3 --epochs 4 --confirm 0 --out plan"],
    "plan-confirmed": [
        "plan two.csv --label y --drop id --accuracy 0.7 --widths 2,4,8 --seeds 3 --epochs 8 --share 0.6 --confirm 12"
    ],
    "predict": [
        "plan two.csv --label y --drop id --accuracy 0.6 --widths 2,8 --seeds 8 --epochs 20 --confirm 0 --out plan",
        "predict plan/students/soft-2.safetensors two.csv --label y --drop id",
    ],
    "doctor-files": ["doctor two.csv labels.csv --label y --id id"],
    "doctor-run": [
        "verdict three.csv --label y --drop id --seeds 5 --epochs 4 --width 4 --out verdict",
        "doctor verdict",
    ],
    "reproduce-table1": ["reproduce table1 --settings table1.toml --data digits --out table1 --workers 2"],
    "reproduce-figure1": ["reproduce figure1 --settings figure1.toml --data digits --out figure1 --workers 2"],
    "reproduce-kernel-regime": [
        "reproduce kernel-regime --settings kernel.toml --data digits --out kernel --workers 2"
    ],
}
