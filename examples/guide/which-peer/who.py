"""Names the odd ones among the peers of a process, by what zlink tells of it and nothing else."""
import json
import subprocess
import sys

table = ["zlink", "top", sys.argv[1], "--once", "--json", "--delay", "3s"]
told = json.loads(subprocess.check_output(table))
for peer in told["peers"]:
    if peer["messages_dropped_hwm"] > 0:
        print("slow:", peer["routing_id"])
    if peer["state"] == "ready" and peer["quiet_seconds"] > 3:
        print("silent:", peer["routing_id"])
for peer in told["gone"]:
    if peer["event"] == "disconnects" and peer["times_since"] > 1:
        print("comes and goes:", peer["routing_id"])
    if peer["event"] == "handshakes_failed":
        print("kept out:", peer["address"], peer["reason"])
