no_such_signal = 1
