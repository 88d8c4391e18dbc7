/** The name of the installation, which the service writes into the page. */
export const productName = document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? 'Svc';
