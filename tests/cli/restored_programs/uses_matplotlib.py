import matplotlib

matplotlib.use("Agg", warn=False)
import matplotlib.pyplot as plt, matplotlib.cm as cm, numpy as np
from mpl_toolkits.mplot3d import Axes3D
import matplotlib.mlab as mlab

assert cm.get_cmap("viridis", 4)(0) and cm.get_cmap().name == "viridis" and cm.get_cmap(cm.jet) is cm.jet
fig = plt.figure()
ax = fig.gca(projection="3d")
assert ax.name == "3d" and fig.gca(projection="3d") is ax and fig.gca() is ax
fig = plt.figure()
ax = Axes3D(fig)
assert ax in fig.axes and len(fig.axes) == 1 and ax.w_xaxis is ax.xaxis
fig = plt.figure()
ax = fig.add_subplot(111, projection="3d")
assert len(fig.axes) == 1
plt.style.use("seaborn-darkgrid")
plt.style.use(["seaborn"])
fig = plt.figure(figsize=(1, 1), dpi=10)
plt.hist([1, 2, 3], normed=True)
plt.grid(b=True)
fig.canvas.draw()
assert len(fig.canvas.tostring_rgb()) == 10 * 10 * 3
fig.canvas.set_window_title("x")
ax = plt.gca()
ax.plot([1, 2], label="a")
l = ax.legend()
assert len(l.legendHandles) == 1
ax.set_xscale("log", basex=2)
ax.hist([1, 2], normed=1)
assert abs(mlab.normpdf(0, 0, 1) - 0.3989) < 1e-3
plt.savefig("x.png", frameon=False)
