/*
 * The least there is to a group, in C++, as one writes it for JACCL: every rank
 * gives its number and gets the sum of all. Without a configuration in the
 * environment this process is alone.
 */
#include <jaccl/jaccl.h>

#include <exception>
#include <iostream>

int main()
{
    try {
        auto group = jaccl::init();

        if (!group)
            group = jaccl::init(jaccl::Config().set_devices({{{}}}), true);
        float number = static_cast<float>(group->rank() + 1);
        float sum = 0;
        group->all_sum(&number, &sum, sizeof number, jaccl::Float32);
        std::cout << "rank " << group->rank() << " of " << group->size()
                  << ": the sum is " << sum << "\n";
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
