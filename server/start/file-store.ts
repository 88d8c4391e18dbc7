import type { Config } from '../config.ts';
import { createS3Store, type ObjectStore } from '../platform/files/s3-store.ts';

/** Returns the S3 store if one is configured. */
export function fileStore(config: Config): ObjectStore | undefined {
  const { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_PUBLIC_ENDPOINT } = config;
  if (!S3_ENDPOINT || !S3_BUCKET || !S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY) return undefined;
  return createS3Store({
    endpoint: S3_ENDPOINT,
    region: config.S3_REGION,
    bucket: S3_BUCKET,
    accessKeyId: S3_ACCESS_KEY_ID,
    secretAccessKey: S3_SECRET_ACCESS_KEY.reveal(),
    ...(S3_PUBLIC_ENDPOINT && { publicEndpoint: S3_PUBLIC_ENDPOINT }),
  });
}
