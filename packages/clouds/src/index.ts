export { type Ec2Options, mayAsk, openEc2 } from './aws/client.ts';
export { regionOfInfrastructure, regionOfInstallConfig, regionOfProviderId } from './aws/region.ts';
export { scanEc2 } from './aws/scan.ts';
export { readCloudEvents } from './cloudevents.ts';
export { awsRegion } from './metadata/aws.ts';
export { type AzureMetadata, azureMetadata } from './metadata/azure.ts';
export { detectCloud, type MetadataProvider } from './metadata/http.ts';
export { type OwnMachineObservation, watchMetadata } from './metadata/watch.ts';
export { eventsOfNode, type SourceError, signalPresets } from './signals.ts';
