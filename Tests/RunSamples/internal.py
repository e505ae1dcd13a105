"""An error that pytest reports as an internal error."""


def test_of_a_broken_hook(request):
    class Broken:
        def pytest_runtest_logreport(self, report):
            raise RuntimeError("the report itself is broken")

    request.config.pluginmanager.register(Broken())
