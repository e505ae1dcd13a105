"""An error that pytest takes for one of its own."""


def test_of_a_broken_hook(request):
    class Broken:
        def pytest_runtest_logreport(self, report):
            raise RuntimeError("the report itself is broken")

    request.config.pluginmanager.register(Broken())
