"""A scripted agent for Harbor: uploads one script into the agent container and runs it, or runs a command.

Loaded by Harbor (`-a qharbor.harbor_agent:ScriptAgent --ak script=PATH`), so it imports nothing of the laboratory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities

_REMOTE = "/workspace/.agent-script"


class ScriptAgent(BaseAgent):
    """`script` is a Python file on the host; `command` a shell command instead."""

    capabilities = AgentCapabilities(mcp_servers=True)

    def __init__(self, *args: Any, script: str | None = None, command: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if (script is None) == (command is None):
            raise ValueError("give either script=PATH or command=TEXT")
        self._script = Path(script) if script else None
        self._command = command

    @staticmethod
    def name() -> str:
        return "script"

    def version(self) -> str:
        return "1.0"

    async def setup(self, environment: Any) -> None:
        if self._script is not None:
            await environment.upload_file(self._script, f"{_REMOTE}.py")

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        command = self._command or f"python3 {_REMOTE}.py"
        result = await environment.exec(command)
        log = Path(self.logs_dir) / "agent.log"
        log.write_text(f"{result.stdout or ''}{result.stderr or ''}\nexit status {result.return_code}\n")
