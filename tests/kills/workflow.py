class WorkflowKiller:
    pass
