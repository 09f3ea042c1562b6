# Which of the words that config.ts writes OpenStack itself knows: sections with their options, by service, and factories of its pipelines.
# Reads all of them as JSON and prints those that are known. Run by the Python that Debian packages OpenStack for.
import importlib
import json
import sys

from keystoneauth1 import loading
from oslo_config import generator

COMMON = ['oslo.log', 'oslo.messaging', 'oslo.concurrency', 'oslo.db', 'keystonemiddleware.auth_token']
NAMESPACES = {
    'nova': ['nova.conf', *COMMON],
    'keystone': ['keystone', *COMMON],
    'placement': ['placement.conf', *COMMON],
    'neutron': ['neutron', 'neutron.db', 'neutron.ml2', 'oslo.service.wsgi', *COMMON],
}
# Options of the plugin that `auth_type = password` names are no part of the lists.
PASSWORD = {option.dest for option in loading.get_plugin_loader('password').get_options()}


def known_options(service):
    sections = {}
    for _, groups in generator._list_opts(NAMESPACES[service]):
        for group, options in groups:
            name = getattr(group, 'name', group) or 'DEFAULT'
            known = sections.setdefault(name, set())
            for option in options:
                known.update([option.dest, option.name])
    for known in sections.values():
        if 'auth_type' in known:
            known.update(PASSWORD)
    return sections


def is_there(factory):
    module, _, path = factory.partition(':')
    try:
        found = importlib.import_module(module)
        for name in path.split('.'):
            found = getattr(found, name)
        return callable(found)
    except (ImportError, AttributeError):
        return False


asked = json.load(sys.stdin)
options = {}
for service, sections in asked['options'].items():
    known = known_options(service)
    options[service] = {name: [one for one in written if one in known.get(name, ())] for name, written in sections.items() if name in known}
print(json.dumps({'options': options, 'factories': [one for one in asked['factories'] if is_there(one)]}))
