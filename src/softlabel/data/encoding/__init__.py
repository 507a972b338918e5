"""Tables as people have them (text, categories, dates, missing values) as numbers for networks."""

from softlabel.data.encoding.columns import ColumnPlan, plan_columns
from softlabel.data.encoding.encoder import TableEncoder

__all__ = ["ColumnPlan", "TableEncoder", "plan_columns"]
