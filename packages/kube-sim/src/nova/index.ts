export {
  type NewServer,
  OpenStack,
  type OpenStackOptions,
  simulatedEnvironment,
  simulatedUser,
} from './open-stack.ts';
export { OpenStackApi, serveOpenStack } from './serve.ts';
