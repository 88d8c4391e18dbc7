export const preview = {
  title: 'Checkout page',
  frame: 'Preview of the checkout page',
  product: 'Your product',
  plan: 'Your plan',
  code: 'YOUR-CODE',
  screen: 'Screen',
  screens: { desktop: 'Desktop', phone: 'Phone' },
  hint: 'This is the page that your customers see, with what you have entered. Nothing is saved.',
};
