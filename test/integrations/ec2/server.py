"""server.py: an EC2 endpoint on a free port of 127.0.0.1, for tests.

moto is a real emulator of the EC2 API, but its DescribeInstanceStatus knows no events, no pages and no limits. They are added inside moto, so
that the XML still comes from its serializer, which follows the service model of botocore. Faults are answered in front of it.

What is no EC2 lies under /_drydock/ and speaks JSON:
  GET    instances   what there is: [{"id","state","zone","dns","ip","tags","boots"}]
  PUT    events      {"i-1": [{"InstanceEventId","Code","Description","NotBefore","NotAfter","NotBeforeDeadline"}]}: replaces them
  POST   faults      {"action","code","status","message","times","harness"[,"retryAfterSeconds"]}: the next calls of that action fail, those
                     of the harness or those of everybody else; "*" is any. DELETE ends them
  PUT    delay       {"action","seconds"}: every call of that action waits first
  POST   forget      ["i-1"]: nobody knows it any more, as an hour after it was terminated
  GET    calls       [{"action","params","agent","at","fault"}]; DELETE forgets them

It prints its address, and ends when its standard input does: whoever started it is gone then.
"""
import datetime
import io
import json
import os
import re
import sys
import threading
import time
from urllib.parse import parse_qs

from moto.core.responses import ActionResult
from moto.ec2 import ec2_backends
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instances import Instance, InstanceBackend
from moto.ec2.responses.instances import InstanceResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

EVENTS, FAULTS, DELAYS, CALLS, BOOTS = {}, [], {}, [], {}
MAX_IDS, PAGE = 100, 1000
FIELDS = ("InstanceEventId", "Code", "Description", "NotBefore", "NotAfter", "NotBeforeDeadline")
FILTERS = {
    "event.code": "Code",
    "event.description": "Description",
    "event.instance-event-id": "InstanceEventId",
    "event.not-before": "NotBefore",
    "event.not-after": "NotAfter",
    "event.not-before-deadline": "NotBeforeDeadline",
}

# None: no <eventsSet>, as EC2 answers for an instance that never had an event.
Instance.events = property(lambda self: EVENTS.get(self.id) or None)


def counted(method):
    def boot(self, *args, **kwargs):
        BOOTS[self.id] = BOOTS.get(self.id, 1) + 1
        return method(self, *args, **kwargs)

    return boot


Instance.start, Instance.reboot = counted(Instance.start), counted(Instance.reboot)


def event_of(data):
    unknown = set(data) - set(FIELDS)
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return {
        key: datetime.datetime.fromisoformat(value.replace("Z", "+00:00")) if key.startswith("Not") else value
        for key, value in data.items()
        if value is not None
    }


def matches(instance, name, wanted):
    for event in EVENTS.get(instance.id, []):
        value = event.get(FILTERS[name])
        if hasattr(value, "strftime"):
            value = value.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        if value in wanted:
            return True
    return False


describe_as_moto = InstanceBackend.describe_instance_status


def describe(self, instance_ids, include_all_instances, filters):
    ours = [f for f in filters or [] if f["name"] in FILTERS]
    rest = {f["name"]: f["values"] for f in filters or [] if f["name"] not in FILTERS}
    found = describe_as_moto(self, instance_ids, include_all_instances, rest)
    return [instance for instance in found if all(matches(instance, f["name"], f["values"]) for f in ours)]


InstanceBackend.describe_instance_status = describe


def describe_instance_status(self):
    """The limits, in the words that EC2 uses (and spells so)."""
    ids, token, size = self._get_param("InstanceIds", []), self._get_param("NextToken"), self._get_param("MaxResults")
    if len(ids) > MAX_IDS:
        raise EC2ClientError(
            "InvalidRequest",
            f"{len(ids)} exceeds the maximum number of instance IDs that can be specificied ({MAX_IDS}). "
            f"Please specify fewer than {MAX_IDS} instance IDs.",
        )
    for given in ids:
        if not re.fullmatch(r"i-([0-9a-f]{8}|[0-9a-f]{17})", given):
            raise EC2ClientError("InvalidInstanceID.Malformed", f'Invalid id: "{given}"')
    if ids and size:
        raise EC2ClientError("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
    if size is not None and int(size) < 5:
        raise EC2ClientError(
            "InvalidParameterValue", f"Value ( {size} ) for parameter maxResults is invalid. Expecting a value greater than 5."
        )
    filters = [{"name": name, "values": values} for name, values in self._filters_from_querystring().items()]
    found = self.ec2_backend.describe_instance_status(ids, self._get_bool_param("IncludeAllInstances", False), filters)
    start, size = int(token or 0), min(int(size or PAGE), PAGE)
    answer = {"InstanceStatuses": found[start : start + size]}
    if start + size < len(found):
        answer["NextToken"] = str(start + size)
    return ActionResult(answer)


InstanceResponse.describe_instance_status = describe_instance_status


def all_instances():
    for regions in list(ec2_backends.values()):
        for backend in list(regions.values()):
            for reservation in list(backend.reservations.values()):
                yield from list(reservation.instances)


def shown(instance):
    return {
        "id": instance.id,
        "state": instance._state.name,
        "zone": instance._placement.zone,
        "dns": instance.private_dns_name,
        "ip": instance.private_ip,
        "tags": {tag["key"]: tag["value"] for tag in instance.get_tags()},
        "boots": BOOTS.get(instance.id, 1),
    }


def forget(ids):
    for regions in ec2_backends.values():
        for backend in regions.values():
            for reservation in backend.reservations.values():
                reservation.instances = [instance for instance in reservation.instances if instance.id not in ids]


def administer(method, what, data):
    asked = f"{method} {what}"
    if asked == "GET instances":
        return [shown(instance) for instance in all_instances()]
    if asked == "PUT events":
        EVENTS.update({instance: [event_of(event) for event in events] for instance, events in data.items()})
    elif asked == "POST faults":
        FAULTS[:] = [fault for fault in FAULTS if fault["times"] > 0] + [data]
    elif asked == "DELETE faults":
        FAULTS.clear()
    elif asked == "PUT delay":
        DELAYS[data["action"]] = data["seconds"]
    elif asked == "POST forget":
        forget(data)
    elif asked == "GET calls":
        return list(CALLS)
    elif asked == "DELETE calls":
        CALLS.clear()
    else:
        raise ValueError(f"nobody here knows {asked}")
    return {}


FAULT = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors>'
    "<RequestID>00000000-0000-4000-8000-000000000000</RequestID></Response>"
)


HARNESS = "drydock-harness"


def take_fault(action, agent):
    for fault in FAULTS:
        if fault["action"] in ("*", action) and fault["times"] > 0 and fault["harness"] == (agent == HARNESS):
            fault["times"] -= 1
            return fault
    return None


class App:
    def __init__(self, moto):
        self.moto = moto

    def __call__(self, environment, start_response):
        path, method = environment["PATH_INFO"], environment["REQUEST_METHOD"]
        body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        if path.startswith("/_drydock/"):
            try:
                status, answer = "200 OK", administer(method, path[len("/_drydock/") :], json.loads(body) if body else None)
            except Exception as error:
                status, answer = "400 Bad Request", {"error": repr(error)}
            start_response(status, [("Content-Type", "application/json")])
            return [json.dumps(answer).encode()]
        environment["wsgi.input"] = io.BytesIO(body)
        form = parse_qs(body.decode("utf-8", "replace"))
        action = form.get("Action", [""])[0]
        if action:
            agent = environment.get("HTTP_USER_AGENT", "")
            fault = take_fault(action, agent)
            CALLS.append(
                {
                    "action": action,
                    "params": {key: value[0] for key, value in form.items() if key not in ("Action", "Version")},
                    "agent": agent,
                    "at": time.time() * 1000,
                    "fault": fault["code"] if fault else None,
                }
            )
            time.sleep(DELAYS.get(action, 0))
            if fault:
                headers = [("Content-Type", "text/xml;charset=UTF-8")]
                if fault.get("retryAfterSeconds") is not None:
                    headers.append(("Retry-After", str(fault["retryAfterSeconds"])))
                start_response(f"{fault['status']} Fault", headers)
                return [(FAULT % (fault["code"], fault["message"])).encode()]
        return self.moto(environment, start_response)


class Quiet(WSGIRequestHandler):
    # A client that keeps its connection may use it again, as with the real one.
    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    server = make_server("127.0.0.1", 0, App(DomainDispatcherApplication(create_backend_app)), threaded=True, request_handler=Quiet)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
