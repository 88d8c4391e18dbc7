import { Component, type ReactNode, Suspense } from 'react';
import { Crash, NotFound } from './components/not-found.tsx';
import { Shell } from './components/shell.tsx';
import { Toasts } from './components/toasts.tsx';
import { pageAt } from './pages.ts';
import { PlaceProvider, useLocation } from './routing.tsx';

export function Router() {
  return (
    <PlaceProvider>
      <CurrentPage />
      <Toasts />
    </PlaceProvider>
  );
}

function CurrentPage() {
  const { pathname } = useLocation();
  const page = pageAt(pathname);
  if (!page) return <NotFound />;
  const Content = page.component();
  const content = (
    <Suspense>
      <Content />
    </Suspense>
  );
  return <Boundary pathname={pathname}>{page.inShell ? <Shell>{content}</Shell> : content}</Boundary>;
}

interface BoundaryProps {
  readonly pathname: string;
  readonly children: ReactNode;
}

/** Shows an error of a page until another page is opened. Only a class can catch errors of components. */
class Boundary extends Component<BoundaryProps, { readonly error?: unknown; readonly failed: boolean }> {
  override state = { failed: false, error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { failed: true, error };
  }

  override componentDidUpdate({ pathname }: BoundaryProps) {
    if (this.state.failed && pathname !== this.props.pathname) this.setState({ failed: false, error: undefined });
  }

  override render() {
    return this.state.failed ? <Crash error={this.state.error} /> : this.props.children;
  }
}
