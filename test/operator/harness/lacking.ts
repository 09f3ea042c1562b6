/** For the option `skip` of tests about what the embedded cluster does not have. */
export function lackingEmbedded(what: string): string | false {
  return process.env['DRYDOCK_TEST_CLUSTER'] === 'embedded'
    ? `the embedded cluster has no ${what}`
    : false;
}
