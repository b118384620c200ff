/// A small pool of worker threads that share out the blocks of one launch.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cuzk {

class Pool {
  public:
    /// body(worker, block) for every block in [0, count), on `threads` threads, the caller among them.
    /// Launches from several callers queue up for the workers; those that need none run at once, side by side.
    void run(unsigned count, unsigned threads, const std::function<void(unsigned, unsigned)>& body) {
        if (owner_ != getpid()) throw std::runtime_error("the cpu device was used before fork; open it in the child");
        threads = threads < 1 ? 1 : threads;
        if (threads > count) threads = count ? count : 1;
        if (threads == 1) {
            for (unsigned block = 0; block < count; ++block) body(0, block);
            return;
        }
        std::lock_guard<std::mutex> one_launch(launch_);
        grow(threads - 1);
        keep_off_callers_core();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            body_ = &body;
            count_ = count;
            next_ = 0;
            active_ = threads - 1;
            invited_ = threads - 1;
            ++generation_;
        }
        wake_.notify_all();
        work(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [&] { return active_ == 0; });
        body_ = nullptr;
    }

    ~Pool() {
        if (owner_ != getpid()) {  // the threads of a forked child do not exist; only their handles do
            for (auto& t : threads_) t.detach();
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (auto& t : threads_) t.join();
    }

  private:
    void grow(unsigned workers) {
        while (threads_.size() < workers) {
            const unsigned id = static_cast<unsigned>(threads_.size()) + 1;
            const unsigned long seen = generation_;
            threads_.emplace_back([this, id, seen] { serve(id, seen); });
        }
    }

    /// Lets the workers run everywhere but on the core where the caller is about to work.  A kernel may wake a thread
    /// on its waker's core, where it would queue behind the caller for longer than most launches take.
    void keep_off_callers_core() {
        cpu_set_t cores;
        const int here = sched_getcpu();
        if (here < 0 || sched_getaffinity(0, sizeof cores, &cores) != 0) return;  // more than CPU_SETSIZE cores
        if (CPU_COUNT(&cores) > 1) CPU_CLR(here, &cores);
        if (CPU_EQUAL(&cores, &cores_) && placed_ == threads_.size()) return;
        for (auto& t : threads_) (void)pthread_setaffinity_np(t.native_handle(), sizeof cores, &cores);
        cores_ = cores;
        placed_ = threads_.size();
    }

    void serve(unsigned id, unsigned long seen) {
        for (;;) {
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
                if (stop_) return;
                seen = generation_;
                if (id > invited_) continue;
            }
            work(id);
            std::lock_guard<std::mutex> lock(mutex_);
            if (--active_ == 0) done_.notify_one();
        }
    }

    void work(unsigned id) {
        for (unsigned block; (block = next_.fetch_add(1)) < count_;) (*body_)(id, block);
    }

    std::mutex launch_, mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> threads_;
    cpu_set_t cores_{};   // where the first placed_ workers may run
    size_t placed_ = 0;
    const std::function<void(unsigned, unsigned)>* body_ = nullptr;
    std::atomic<unsigned> next_{0};
    unsigned count_ = 0, active_ = 0, invited_ = 0;
    unsigned long generation_ = 0;
    bool stop_ = false;
    pid_t owner_ = getpid();
};

}  // namespace cuzk
