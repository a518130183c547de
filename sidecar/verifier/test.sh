#!/bin/bash
# Harbor runs this in the verifier container, where the collected evidence lies at /evidence again.
exec python -m qharbor.verifier /evidence /logs/verifier
