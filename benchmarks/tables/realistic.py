"""Two made tables with the troubles of files that programs for offices and customer care write."""

import csv
import io
import math
import random
from collections.abc import Callable
from datetime import date, timedelta

COUNTRIES = ("DE", "AT", "CH", "FR", "NL")
PAYMENTS = ("Rechnung", "Karte", "Lastschrift", "PayPal")
PLANS = ("basic", "family", "premium")
STREETS = ("Oak", "Mill", "Church", "Station", "Lake", "Hill", "Garden", "Market")
COMPLAINTS = (
    "the bill is wrong again and nobody answers", "please cancel my contract as soon as possible",
    "internet is slow in the evening", "router keeps losing the connection",
)  # fmt: skip
PRAISE = (
    "thank you for the quick help", "everything works fine now", "when does the new tariff start",
    "please send the invoice to my new address",
)  # fmt: skip


def orders(rows: int = 2_000, seed: int = 11) -> bytes:
    """Orders of a shop as a German spreadsheet program exports them; which of them were returned?"""
    rng = random.Random(seed)
    lines = [["Bestellnr", "Bestelldatum", "Betrag", "Rabatt", "Gewicht kg", "Land", "Zahlart", "Artikel", "Express",
              "Lieferzeit Tage", "Retoure"]]  # fmt: skip
    for number in range(rows):
        day = date(2023, 1, 2) + timedelta(days=rng.randrange(700))
        amount, discount = math.exp(rng.gauss(5, 1.2)), rng.choice((0, 0, 5, 12.5, 20))
        payment, items, days = rng.choice(PAYMENTS), rng.randint(1, 12), rng.gauss(4, 1.5)
        score = 0.9 * math.log(amount / 150) + 0.5 * (days - 4) + 1.5 * (payment == "Rechnung") - 0.04 * discount - 0.9
        lines.append([
            f"B{2023_0000 + number}", day.strftime("%d.%m.%Y"), german(amount, 2) + " €", german(discount, 1) + " %",
            german(rng.uniform(0.1, 30), 2), rng.choice(COUNTRIES), payment, str(items), rng.choice(("ja", "nein")),
            "" if rng.random() < 0.08 else german(days, 1), "ja" if rng.random() < logistic(2 * score) else "nein",
        ])  # fmt: skip
    return "\ufeff".encode() + written(lines, ";")


def subscribers(rows: int = 2_000, seed: int = 12) -> bytes:
    """Customers of a telephone company; several live in one household, and leave together more often than not."""
    rng = random.Random(seed)
    lines = [["customer_id", "household", "signed_up", "last_contact", "plan", "city", "senior", "autopay",
              "monthly_charge", "tickets", "last_message", "churned"]]  # fmt: skip
    homes = [(f"H{number:04d}", rng.gauss(0, 0.7), f"{rng.choice(STREETS)}{rng.choice(('ton', 'ford', 'bury'))}")
             for number in range(rows // 2)]  # fmt: skip
    for number in range(rows):
        home, mood, city = rng.choice(homes)
        signed = date(2015, 1, 1) + timedelta(days=rng.randrange(3_300))
        contact = signed + timedelta(days=rng.randrange(1, 400))
        plan, autopay, tickets = rng.choice(PLANS), rng.random() < 0.6, min(9, int(rng.expovariate(0.8)))
        charge = round({"basic": 20, "family": 45, "premium": 70}[plan] * rng.uniform(0.8, 1.3), 2)
        score = mood + 0.6 * tickets - 1.2 * autopay + 0.02 * (charge - 40) + (signed.year - 2020) / 3 - 1.3
        leaves = rng.random() < logistic(1.5 * score)
        messages = COMPLAINTS if rng.random() < (0.8 if leaves else 0.25) else PRAISE
        lines.append([
            f"C-{100_000 + number}", home, signed.isoformat(), "" if rng.random() < 0.2 else contact.isoformat(), plan,
            city, str(rng.random() < 0.2), str(autopay).lower(), "n/a" if rng.random() < 0.03 else f"{charge:.2f}",
            str(tickets), rng.choice(messages) if rng.random() < 0.7 else "", "yes" if leaves else "no",
        ])  # fmt: skip
    return written(lines, ",")


def german(value: float, digits: int) -> str:
    """1234.5 as 1.234,50."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def logistic(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def written(lines: list[list[str]], delimiter: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8")


WRITERS: dict[str, Callable[[], bytes]] = {"orders": orders, "subscribers": subscribers}
