"""A progress bar that shows nothing."""


def tqdm(iterable):
    """The iterable itself."""
    return iterable
