"""The table of what must hold, as far as it was run."""


def summary(parts):
    """The table of what must hold, as far as it was run."""
    told = {}
    if "wrong" in parts:
        w = parts["wrong"]
        count = w["hand-written here"] + w["from the doctor's corpus"]
        told |= {"wrong answers": count, "wrong caught": w["caught"], "wrong named": w["named"]}
    if "mutants" in parts:
        told |= {"mutants": parts["mutants"]["generated"], "mutants missed": len(parts["mutants"]["missed"])}
    if "correct" in parts:
        told |= {
            "right answers": parts["correct"]["right answers"],
            "seeds each": min(parts["correct"]["done"].values(), default=0),
            "gradings of them": parts["correct"]["gradings"],
            "rejected": len(parts["correct"]["rejected"]),
        }
    for part in ("attacks", "attacks as a user"):
        if "attacks" in parts.get(part, {}):
            told |= {part: parts[part]["attacks"], f"{part}: faults": len(parts[part]["faults"])}
    if "manglings" in parts:
        told |= {
            "manglings": parts["manglings"]["manglings"],
            "scores changed": len(parts["manglings"]["scores that changed"]),
        }
    if "leaks" in parts:
        told |= {
            "leaks planted": parts["leaks"]["planted"],
            "leaks not found": len(parts["leaks"]["not found"]),
            "false alarms": len(parts["leaks"]["false alarms"]),
        }
    if "copying" in parts:
        told |= {"the book's code, highest score": max(parts["copying"]["highest score of 100"].values())}
    if "speed" in parts:
        told |= {
            "submissions a minute": parts["speed"]["a minute, start of two sandboxes included"],
            "MB a worker": parts["speed"]["MB a worker"],
        }
    if "rows" in parts.get("many", {}):
        told |= {
            "large folder": parts["many"]["rows"],
            "grades lost by a kill": parts["many"]["grades lost by the kill"],
        }
    return told
