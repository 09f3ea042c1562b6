/**
 * The used part of the SDK. Loading it takes half a second and 100 MB: only client.ts imports this,
 * and only when a source of kind AWS is configured. Named imports, so that a bundler can leave the
 * rest out.
 */
export { DescribeInstanceStatusCommand, EC2Client } from '@aws-sdk/client-ec2';
