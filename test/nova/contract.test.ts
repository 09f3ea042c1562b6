import { test } from 'node:test';
import { novaContract } from '../../src/nova/testing/contract.ts';
import { realSite } from './real-site.ts';

// A cloud of tests only: its hosts are emptied and disabled, and servers are made and deleted there.
if ((process.env['DRYDOCK_TEST_OPENSTACK'] ?? '') === '') test('a real Nova', { skip: 'DRYDOCK_TEST_OPENSTACK is not set' }, () => {});
else novaContract('real', () => realSite(process.env));
