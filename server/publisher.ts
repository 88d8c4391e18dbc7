import packageJson from '../package.json' with { type: 'json' };
import publisherJson from './publisher.json' with { type: 'json' };

/** What only the publisher of this program knows. A value that is null is left out of documents and packages. */
export interface Publisher {
  /** The web page of the project: an https URL. */
  readonly homepage: string | null;
  /** The git repository: an https URL without `.git`. */
  readonly repository: string | null;
  /** Where to report a problem: an https URL. */
  readonly issues: string | null;
  /** The email address for questions. */
  readonly contact: string | null;
  /** Where to report a vulnerability of the program: an email address or an https URL. */
  readonly security: string | null;
  /** The public SSH key that verifies the signature of a release: `ssh-ed25519 AAAA…`. */
  readonly signing_key: string | null;
  /** The image in a registry, without a tag: `registry.example.com/svc`. */
  readonly image: string | null;
  /** The name of the Python SDK in a registry: `acme-payments`. */
  readonly python_package: string | null;
  /** The module of the Go SDK: `payments.example.com/go`. */
  readonly go_module: string | null;
}

export const publisher: Publisher = publisherJson;

/** The SPDX identifier of the license. */
export const { license } = packageJson;

/** The contact of the OpenAPI document. */
export const contact = {
  ...(publisher.homepage && { url: publisher.homepage }),
  ...(publisher.contact && { email: publisher.contact }),
};
