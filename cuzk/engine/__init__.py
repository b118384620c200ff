"""The proving engine: queues, keys under a budget, workers, and the service in front of them."""
