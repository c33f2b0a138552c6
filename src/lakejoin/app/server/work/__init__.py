"""What workers do: jobs that take long enough that a person may want to stop them."""
