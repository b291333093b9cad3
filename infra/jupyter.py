"""JupyterLab for `make notebooks`: on loopback, and it asks nobody for news, updates or extensions."""

c = get_config()  # noqa: F821  (Jupyter puts it into the names of this file)

c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_root = True  # in a container one often is; it still asks for its token
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.handlers.announcements.NeverCheckForUpdate"
c.LabApp.extension_manager = "readonly"
# Not even the question whether one would like news.
disabled = {"@jupyterlab/apputils-extension:announcements": True}
c.ServerApp.tornado_settings = {"page_config_data": {"disabledExtensions": disabled}}
