import torch

from softlabel.numerics import threads_for


def test_little_work_gets_one_thread_and_gives_the_others_back(monkeypatch):
    now = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: now[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: now.__setitem__(0, count))
    with threads_for(1e12):
        assert now == [4]
    with threads_for(1e3):
        assert now == [1]
    assert now == [4]
