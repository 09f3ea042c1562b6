import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayAsk } from './client.ts';

test("Amazon's own endpoints are asked, others only where the operator's flags name them, and never with a password in them", () => {
  const allowed = ['http://127.0.0.1:5000', 'https://ec2.cloud.example.com/api'];
  const rows: readonly (readonly [string, boolean])[] = [
    ['https://ec2.eu-central-1.amazonaws.com', true],
    ['https://vpce-1-abc.ec2.us-east-1.vpce.amazonaws.com/', true],
    ['https://ec2.cn-north-1.amazonaws.com.cn', true],
    ['https://ec2.eu-west-1.api.aws', true],
    ['http://ec2.eu-central-1.amazonaws.com', false],
    ['https://ec2.eu-central-1.amazonaws.com:8443', false],
    ['https://amazonaws.com.evil.example', false],
    ['https://evilamazonaws.com', false],
    ['http://169.254.169.254/latest/meta-data', false],
    ['http://127.0.0.1:5000/', true],
    ['http://127.0.0.1:5000/other', false],
    ['http://user:word@127.0.0.1:5000/', false],
    ['https://ec2.cloud.example.com/api', true],
    ['file:///etc/passwd', false],
    ['nonsense', false],
  ];
  for (const [endpoint, may] of rows) assert.equal(mayAsk(endpoint, allowed), may, endpoint);
});
