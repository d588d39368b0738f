"""The engine of a cluster: records in Parquet, encoded, drawn and sorted by Spark."""
