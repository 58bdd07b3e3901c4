"""Ray Serve's request router for the studio: a request goes to the replica that it names, as long as that lives."""

from __future__ import annotations

from collections import OrderedDict

from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter
from ray.serve.request_router import PendingRequest, ReplicaID, RunningReplica

_MOST = 10_000
"""Keys whose replica is remembered."""


class ToItsReplica(ConsistentHashRouter):
    """By the request's key (`affinity.addressed`): the replica of that name; for any other key, a session hash or the name of
    a replica that has died, one by consistent hashing, which keeps the key while it lives, whoever else comes or goes. Without
    a key, a new visitor: where the fewest requests are open."""

    _kept: OrderedDict[str, ReplicaID]

    def initialize_state(self, **settings: int) -> None:
        super().initialize_state(**settings)
        self._kept = OrderedDict()

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        if pending_request is None or not pending_request.metadata.session_id:
            if pending_request is not None:
                pending_request.routing_context.should_backoff = True
            return [candidate_replicas] if candidate_replicas else []
        key = pending_request.metadata.session_id
        own = [one for one in candidate_replicas if one.replica_id.unique_id == key or one.replica_id == self._kept.get(key)]
        ranks = await super().choose_replicas(candidate_replicas, pending_request)
        chosen = own or (ranks[0] if ranks else [])
        if chosen:
            self._kept[key] = chosen[0].replica_id
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return [chosen] if chosen else []
