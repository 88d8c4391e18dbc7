import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api.ts';
import { pageAt } from './pages.ts';
import { Router } from './router.tsx';
import { preload } from './routing.tsx';
import { sessionQuery } from './session.ts';
import { applyTheme } from './theme.ts';
import './styles.css';

applyTheme();

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.undecided,
    },
  },
});
const show = (): void => {
  const root = document.querySelector('#root');
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Router />
      </QueryClientProvider>
    </StrictMode>,
  );
};

// The file of the page loads while the session is read. An `await` here would divide the build into more files.
if (pageAt(location.pathname)?.inShell) void client.prefetchQuery(sessionQuery);
void preload(location.pathname).then(show);
