from qharbor.cli import app

app()
