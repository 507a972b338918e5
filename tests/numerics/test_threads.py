import torch

from softlabel.numerics import threads, threads_for


def test_little_work_gets_one_thread_and_gives_the_others_back(monkeypatch):
    monkeypatch.setattr(threads, "available_cpus", lambda: 4)
    now = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: now[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: now.__setitem__(0, count))
    with threads_for(1e12):
        assert now == [4]
    with threads_for(1e3):
        assert now == [1]
    assert now == [4]


def test_no_more_threads_than_cpus_unless_the_user_says_so(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(threads, "available_cpus", lambda: 3)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.usable_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert threads.usable_threads() == 8
